"""Files named on the command line that a run is started with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine import InvalidInput
from engine.records import MAX_FILE, MAX_FILES, FileContent, check_files
from engine.workspace import SKIPPED_DIRS


def read_files(texts: Iterable[str]) -> dict[str, FileContent]:
    """Read files as `Launch.files`.

    Args:
        texts: `PATH`, or `PATH=NAME` for another name than its own in the agents' folders. Of a folder, all
            files are read but links and what can be made again (`SKIPPED_DIRS`), under its own name too.

    Raises:
        InvalidInput: names what cannot be read, or cannot be given.
    """
    contents: dict[str, bytes] = {}
    for text in filter(None, texts):
        path, name = _split(text)
        try:
            for place, inner in _find(path):
                key = '/'.join(filter(None, (name, inner)))
                if len(contents) > MAX_FILES:
                    break  # They are refused.
                with place.open('rb') as file:
                    contents[key] = file.read(MAX_FILE + 1)
        except OSError as error:
            raise InvalidInput({'file': f'{text}: {error.strerror or error}'}) from None
    return check_files(contents, 'file')


def _split(text: str) -> tuple[Path, str]:
    """Return the path of a file or folder, and its name in the agents' folders."""
    before, equals, name = text.rpartition('=')
    if equals and not Path(text).exists():
        return Path(before), name.removesuffix('/') if name != '.' else ''
    path = Path(text)
    return path, path.resolve().name if text.rstrip('/') not in ('.', '') else ''


def _find(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files at a path, each with its path inside it; '' for the path itself."""
    if not path.is_dir():
        yield path, ''
        return
    for around, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - SKIPPED_DIRS)
        for name in sorted(names):
            file = Path(around, name)
            if file.is_file() and not file.is_symlink():
                yield file, file.relative_to(path).as_posix()
