"""The files of charts: each chart's own, and one for each of its versions.

`NAME.chart.yaml` is the current one, which may be edited with any editor. Its versions, which never change,
are `versions/NAME/3-0a1b2c3d4e5f.chart.yaml` and so on, with a file beside each that says who saved it, when,
and a note. All methods block.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from engine.charts.library.records import ChartVersion
from engine.charts.reading import MAX_FILE
from engine.configuration.code_version import digest_of
from engine.errors import EngineError, EntryChanged, InvalidInput, UnknownPattern, UnknownVersion
from engine.host.replacing import locked, replace_file

SUFFIX: Final = '.chart.yaml'
NAME = re.compile(r'[a-z][a-z0-9-]*')
MAX_NAME = 60
VERSION = re.compile(r'([0-9]{1,9})-([0-9a-f]{12})')
Stamp = tuple[int, int, int]
"""What changes whenever a file does: when it was written, its size, and its place on the disk."""


class ChartFiles:
    """The charts in one folder. Errors of the system are `EngineError`s that name the file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def stamps(self) -> dict[str, Stamp]:
        """Return the charts that have a file, and a stamp of each."""
        return stamps_in(self.folder)

    def names(self) -> list[str]:
        """Return the charts that have versions, with or without a file."""
        with suppress(FileNotFoundError), _said(self.folder):
            return sorted(path.name for path in (self.folder / 'versions').iterdir() if is_name(path.name))
        return []

    def path(self, name: str) -> Path:
        """Return the file of a chart. Raises `InvalidInput` if this can be no chart's name."""
        check_name(name)
        return self.folder / f'{name}{SUFFIX}'

    def read(self, name: str) -> str | None:
        """Return the text in the file of a chart, None if it has no file. Raises `InvalidInput`."""
        with suppress(FileNotFoundError):
            return read_chart(self.path(name))
        return None

    def versions(self, name: str) -> tuple[ChartVersion, ...]:
        """Return the versions of a chart, oldest first; none if it was never here."""
        current = self._current(name)
        return tuple(
            replace(_described(path, number, version), current=version == current)
            for number, version, path in self._kept(name)
        )

    def version(self, name: str, version: str) -> ChartVersion | None:
        """Return a version of a chart; None if it is not there."""
        for number, each, path in self._kept(name):
            if each == version:
                return replace(_described(path, number, version), current=version == self._current(name))
        return None

    def number(self, name: str, version: str) -> int:
        """Return the number of a version; 0 if it is not there."""
        versions = self._kept(name) if is_name(name) else ()
        return next((number for number, each, _ in versions if each == version), 0)

    def newest(self, name: str) -> tuple[str, ...]:
        """Return the versions of a chart, the newest first."""
        return tuple(version for _, version, _ in reversed(self._kept(name)))

    def has(self, name: str) -> bool:
        """Whether a chart has versions."""
        return is_name(name) and bool(self._kept(name))

    def text(self, name: str, version: str) -> str:
        """Return the text of a version, or that with this number.

        Raises:
            UnknownVersion: also if its file was changed.
        """
        for number, each, path in self._kept(name):
            if version in (each, str(number)):
                with suppress(FileNotFoundError, InvalidInput):
                    text = read_chart(path)
                    if version_of(text) == each:
                        return text
        raise UnknownVersion(name, version, self._current(name), problem='is not there')

    def keep(self, name: str, text: str, *, author: str = '', note: str = '', saved: float = 0.0) -> None:
        """Make a text a version of a chart, unless it is one; the file of the chart stays as it is."""
        with self._locked(name):
            self._keep(name, text, author, note, saved)

    def save(self, name: str, text: str, *, base: str | None, author: str = '', note: str = '') -> None:
        """Make a text the current version. What is in the file stays a version, even if it is wrong.

        Args:
            name: the chart.
            text: its text, which is not checked.
            base: the version that the writer has seen in the file, '' if there was no file; None: any.
            author: who saves it.
            note: what they say about it.

        Raises:
            EntryChanged: somebody else has changed the file since; nothing was written.
        """
        with self._locked(name):
            before = self.read(name)
            if before == text:  # It was saved before, and only the answer was lost.
                return self._keep(name, text, author, note, time.time())
            if base is not None and base != ('' if before is None else version_of(before)):
                raise EntryChanged('chart', name)
            if before is not None:
                self._keep(name, before, '', '', time.time())
            self._keep(name, text, author, note, time.time())
            with _said(path := self.path(name)):
                replace_file(path, text.encode(), mode=_mode_of(path))

    def remove(self, name: str) -> None:
        """Remove the file of a chart; its text stays a version. Raises `UnknownPattern`."""
        with self._locked(name):
            with suppress(InvalidInput):  # It cannot be read: what was right before is kept.
                text = self.read(name)
                if text is None:
                    raise UnknownPattern(name)
                self._keep(name, text, '', '', time.time())
            with _said(path := self.path(name)):
                path.unlink(missing_ok=True)

    def _current(self, name: str) -> str:
        with suppress(InvalidInput):
            text = self.read(name)
            return '' if text is None else version_of(text)
        return ''

    def _keep(self, name: str, text: str, author: str, note: str, saved: float) -> None:
        versions = self._kept(name)
        version = version_of(text)
        if version in {each for _, each, _ in versions}:
            return
        number = 1 + max((number for number, _, _ in versions), default=0)
        path = self._folder_of(name) / f'{number}-{version}{SUFFIX}'
        about = {'author': author, 'note': note, 'saved': saved}
        with _said(path):
            replace_file(_about(path), json.dumps(about).encode())
            replace_file(path, text.encode())

    def _kept(self, name: str) -> list[tuple[int, str, Path]]:
        """Return number, version and file of each version, oldest first."""
        versions = []
        with suppress(FileNotFoundError), _said(folder := self._folder_of(name)):
            for path in folder.iterdir():
                named = VERSION.fullmatch(path.name.removesuffix(SUFFIX))
                if named and path.name.endswith(SUFFIX):
                    versions.append((int(named[1]), named[2], path))
        return sorted(versions)

    def _folder_of(self, name: str) -> Path:
        check_name(name)
        return self.folder / 'versions' / name

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """Let nobody else change this chart meanwhile; create the folder of its versions."""
        folder = self._folder_of(name)
        with _said(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(folder):
                yield


def version_of(text: str) -> str:
    """Return the version that a text is. Raises `InvalidInput` if no file can hold it."""
    try:
        return digest_of(text.encode())
    except UnicodeEncodeError as error:
        line = text.count('\n', 0, error.start) + 1
        raise InvalidInput({f'text:{line}': 'it is not UTF-8 text'}) from None


def check_name(name: str) -> None:
    """Raise `InvalidInput` if this can be no chart's name: it is also that of its files."""
    if not is_name(name):
        raise InvalidInput(
            {
                'name': f'must be lower-case letters, digits and hyphens, such as two-writers,'
                f' of at most {MAX_NAME} characters, not {name[:80]!r}'
            }
        )


def is_name(name: str) -> bool:
    """Whether a chart can have this name."""
    return len(name) <= MAX_NAME and NAME.fullmatch(name) is not None


def stamps_in(folder: Path) -> dict[str, Stamp]:
    """Return the names of the charts in a folder, and a stamp of each one's file."""
    stamps = {}
    with suppress(FileNotFoundError, NotADirectoryError), _said(folder), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.removesuffix(SUFFIX)
            if name != entry.name and is_name(name) and entry.is_file():
                with suppress(FileNotFoundError):
                    status = entry.stat()
                    stamps[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return stamps


def read_chart(path: Path) -> str:
    """Return the text of a file. Raises `FileNotFoundError`, `InvalidInput`: it is too long, or no text."""
    with _said(path), path.open('rb') as file:
        content = file.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise InvalidInput({f'{path}:1': f'it has more than {MAX_FILE // 1024} KB'})
    try:
        return content.decode('utf-8')
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b'\n') + 1
        raise InvalidInput({f'{path}:{line}': 'it is not UTF-8 text'}) from None


def _described(path: Path, number: int, version: str) -> ChartVersion:
    about: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        about = dict(json.loads(_about(path).read_text('utf-8')))
    saved = about.get('saved')
    return ChartVersion(
        version=version,
        number=number,
        saved=float(saved) if isinstance(saved, int | float) else 0.0,
        author=str(about.get('author', '')),
        note=str(about.get('note', '')),
    )


def _about(path: Path) -> Path:
    """Return the file that says who saved a version, when, and a note."""
    return path.with_name(f'{path.name.removesuffix(SUFFIX)}.json')


def _mode_of(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_mode & 0o777
    return 0o600


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """Turn an error of the system into an `EngineError` that names the file, unless the file is missing."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise EngineError(f'{error.filename or path}: {error.strerror or error}') from None
