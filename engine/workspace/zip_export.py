"""Writes a snapshot as a ZIP file that is safe to unpack, whatever files agents have made."""

from __future__ import annotations

import os
import posixpath
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from engine.workspace.object_store import ObjectStore
from engine.workspace.snapshots import FileVersion, files_of

GIT_DIR = re.compile(r'\.git|git~\d+', re.IGNORECASE)
"""A repository's folder, including its Windows short name."""
GIT_DATA = re.compile(
    r'(HEAD|ORIG_HEAD|index|packed-refs|shallow|refs/.+|logs/.+|objects/[0-9a-f]{2}/[0-9a-f]+'
    r'|objects/pack/pack-[0-9a-f]+\.(?:pack|idx|rev))',
)
"""The files of a repository's history. Everything else there (`config`, `hooks`, `commondir`,
`modules`) can make Git run a program, even on `git status`."""
FORBIDDEN = re.compile(r'[\\:*?"<>|]')
"""Characters forbidden in names on Windows, where a backslash could also lead out of the folder."""
DEVICES = re.compile(r'(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[\d¹²³])(\..*)?', re.IGNORECASE)


def write_zip(objects: ObjectStore, snapshot: str, archive: Path) -> None:
    """Write the files of a snapshot reproducibly: the same files give the same bytes. Blocks.

    Omits files that could make Git run programs, and links that lead out of the folder. Renames files whose
    name could, on any common system, lead out of the folder or clash with another.

    Raises:
        WorkspaceError, OSError
    """
    names = _Names()
    with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED, strict_timestamps=False) as written:
        for file in _drop_unsafe(list(files_of(objects, snapshot))):
            info = zipfile.ZipInfo(names.of(file.path))  # dated 1980, so that archives are reproducible
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            if file.target is None:
                mode, data = stat.S_IFREG | (0o755 if file.executable else 0o644), objects.get(file.digest)
            else:
                mode, data = stat.S_IFLNK | 0o777, os.fsencode(file.target)
            info.external_attr = mode << 16
            written.writestr(info, data)


def _drop_unsafe(files: list[FileVersion]) -> Iterator[FileVersion]:
    paths = {file.path for file in files}
    bare = set(_bare_repositories(paths))
    for file in files:
        repository, inner = _in_repository(file.path, bare)
        if repository is None:
            if file.target is None or _stays_inside(file):
                yield file
        elif file.target is None and GIT_DATA.fullmatch(inner):
            yield FileVersion(path=file.path, digest=file.digest, size=file.size)


def _bare_repositories(paths: Iterable[str]) -> Iterator[str]:
    """Yield folders (as unpacked) that Git would treat as a repository although they are not named `.git`."""
    parts = {_extracted_path(path) for path in paths}
    folders = {posixpath.dirname(path) for path in parts}
    for path in parts:
        folder, name = posixpath.split(path)
        if name == 'head':
            start = f'{folder}/' if folder else ''
            has_data = all(
                any(f'{place}/'.startswith(f'{start}{part}/') for place in folders) for part in DATA_DIRS
            )
            if has_data or f'{start}commondir' in parts:
                yield folder


DATA_DIRS = ('objects', 'refs')


def _in_repository(path: str, bare: set[str]) -> tuple[str | None, str]:
    """Return the repository that is or contains a path, and the relative path; None if there is none."""
    names, unpacked = path.split('/'), _extracted_path(path).split('/')
    for depth in range(len(names) + 1):
        if (depth and GIT_DIR.fullmatch(unpacked[depth - 1])) or '/'.join(unpacked[:depth]) in bare:
            return '/'.join(names[:depth]), '/'.join(names[depth:])
    return None, path


def _stays_inside(link: FileVersion) -> bool:
    """Return whether a link stays inside the folder, no matter what other links it passes through."""
    target = link.target or '/'
    if target.startswith('/') or FORBIDDEN.search(target) or not target.isprintable():
        return False
    names = [name for name in target.split('/') if name not in ('', '.')]
    climbs = next((number for number, name in enumerate(names) if name != '..'), len(names))
    # `..` after a name may go up from the target of another link.
    return '..' not in names[climbs:] and climbs <= link.path.count('/')


class _Names:
    """Gives each path a name that is safe to unpack and unique regardless of case."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of(self, path: str) -> str:
        translated = ''
        for name in path.split('/'):
            translated = self._child(translated, name)
        return translated

    def _child(self, folder: str, name: str) -> str:
        if (folder, name) not in self._given:
            start = f'{folder}/' if folder else ''
            candidate = base = f'{start}{_portable(name)}'
            number = 2
            while _fold(candidate) in self._taken:
                candidate, number = f'{base} ({number})', number + 1
            self._taken.add(_fold(candidate))
            self._given[folder, name] = candidate
        return self._given[folder, name]


def _fold(path: str) -> str:
    """Normalize a path so that names a file system may treat as the same become equal."""
    return unicodedata.normalize('NFKC', path).casefold()


def _extracted_path(path: str) -> str:
    """Return the path a file will be unpacked to, in lower case."""
    return '/'.join(map(_portable, path.split('/'))).lower()


@lru_cache(4096)
def _portable(name: str) -> str:
    text = name.encode(errors='replace').decode()
    # macOS ignores invisible characters: `.g\u200cit` is `.git` there.
    text = ''.join(char for char in text if unicodedata.category(char) != 'Cf')
    text = ''.join(char if char.isprintable() else '_' for char in FORBIDDEN.sub('_', text))
    bare = text.rstrip('. ')
    if bare != text:
        text = bare if GIT_DIR.fullmatch(bare) else f'{bare}_'
    return f'_{text}' if DEVICES.fullmatch(text) else text or '_'
