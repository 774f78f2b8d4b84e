"""ChartLibrary: the charts on this machine as patterns of a catalog, each with its versions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from engine.charts.library.files import (
    SUFFIX,
    ChartFiles,
    Stamp,
    is_name,
    read_chart,
    stamps_in,
    version_of,
)
from engine.charts.library.records import ChartInfo, ChartText, ChartVersion
from engine.charts.pattern import load_chart
from engine.configuration.catalog import Catalog
from engine.errors import EngineError, Fault, InvalidInput, PatternError, UnknownPattern, UnknownVersion
from engine.host.home import home_folder
from engine.statechart.pattern import Pattern

MAX_CLASSES: Final = 200
"""Maximum number of earlier versions that are kept as classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """What a file was noticed to be."""

    path: Path
    stamp: Stamp | None
    """None if it is gone."""
    pattern: type[Pattern] | None = None
    """The newest version that can be used."""
    faults: tuple[Fault, ...] = ()


@dataclass(slots=True)
class ChartLibrary:
    """The charts in a folder of this installation, and those in folders of one's own patterns.

    A file may be changed by any program: `look` notices, makes its text a version, and `show` puts it into
    the catalog. While a file is wrong, the catalog says so, and keeps its last good version. What blocks is
    `look` and whatever reads or writes files; it may be called by any thread.
    """

    catalog: Catalog
    folder: Path | None = None
    """None if this program keeps no charts."""
    folders: Sequence[Path] = ()
    """Folders whose charts can be run, but not saved here."""
    _seen: Mapping[Path, Noticed] = field(default_factory=dict)
    """Replaced as a whole, since threads read it."""
    _classes: dict[tuple[str, str], type[Pattern]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    """Held while a class is added to those that are kept."""

    def __post_init__(self) -> None:
        self.catalog.charts = self
        self.show(self.look())

    @property
    def files(self) -> ChartFiles:
        """The charts that can be saved. Raises `EngineError` if this program keeps none."""
        if self.folder is None:
            raise EngineError('this program keeps no charts')
        return ChartFiles(self.folder)

    def has_changed(self) -> bool:
        """Whether `look` would notice anything; takes one look at the folders."""
        return next(self._changed(), None) is not None

    def look(self) -> list[Noticed]:
        """Return the files that have changed since they were last looked at. Blocks."""
        return [self._notice(path, stamp) for path, stamp in self._changed()]

    def show(self, changes: Iterable[Noticed]) -> None:
        """Put what `look` noticed into the catalog."""
        seen = dict(self._seen)
        for noticed in changes:
            old = seen.get(noticed.path)
            if old and old.pattern and self.catalog.patterns.get(old.pattern.name) is old.pattern:
                del self.catalog.patterns[old.pattern.name]
            faults = noticed.faults
            if noticed.pattern:
                try:
                    self.catalog.add(noticed.pattern)
                except PatternError as error:
                    faults = (*faults, Fault(path=str(noticed.path), line=1, problem=error.problem))
            self.catalog.faults = [
                *(fault for fault in self.catalog.faults if fault.path != str(noticed.path)),
                *faults,
            ]
            if noticed.stamp is None:
                seen.pop(noticed.path, None)
            else:
                seen[noticed.path] = noticed
        self._seen = seen

    def find(self, name: str, version: str) -> type[Pattern] | None:
        """Return a version of a chart; None if it is not there. Blocks.

        Raises:
            UnknownVersion: it is there, but cannot be used.
        """
        if known := self._classes.get((name, version)):
            return known
        if self.folder is None or not is_name(name):
            return None
        try:
            return self._class_of(name, self.files.text(name, version))
        except UnknownVersion:
            return None
        except InvalidInput as error:  # This program no longer takes what an earlier one wrote.
            raise UnknownVersion(name, version, problem=f'cannot be used: {error}') from None

    async def refresh(self) -> None:
        """Notice files that were edited elsewhere. Costs one look at the folders if there are none."""
        if self.has_changed():
            self.show(await asyncio.to_thread(self.look))

    async def compile(self, name: str, version: str) -> None:
        """Compile a version in a thread, if it is there, so that `find` returns it at once."""
        if (name, version) not in self._classes:
            with suppress(UnknownVersion):
                await asyncio.to_thread(self.find, name, version)

    def number(self, name: str, version: str) -> int:
        """Return the number of a version; 0 if it is not known. Blocks."""
        return self.files.number(name, version) if self.folder else 0

    def kept(self) -> Mapping[str, tuple[str, ...]]:
        """Return the versions of each chart, also of removed ones, the newest first. Blocks."""
        return {name: self.files.newest(name) for name in self.files.names()} if self.folder else {}

    def charts(self) -> list[ChartInfo]:
        """Return all charts by name, the removed ones last. Blocks."""
        present = [self._describe(noticed) for noticed in self._seen.values()]
        names = {info.name for info in present}
        removed = [
            ChartInfo(name=name, removed=True)
            for name in (self.files.names() if self.folder else ())
            if name not in names and self.files.has(name)
        ]
        return sorted(present, key=lambda info: info.name) + removed

    def read(self, name: str, version: str = '') -> ChartText:
        """Return the text in a chart's file, or of one of its versions. Blocks.

        Raises:
            UnknownPattern: there is no such chart; `UnknownVersion` if it has no such version.
        """
        path = self._path(name)
        if version:
            text = self.files.text(name, version)
        else:
            try:
                text = read_chart(path)
            except FileNotFoundError:
                raise UnknownPattern(name) from None
        digest = version_of(text)
        return ChartText(name=name, text=text, version=digest, saved=self._version(name, digest))

    def save(
        self, name: str, text: str, *, base: str | None, author: str = '', note: str = ''
    ) -> ChartVersion:
        """Make a text the current version of a chart; see `ChartFiles.save`. Blocks.

        Raises:
            InvalidInput: it is wrong, and by which lines; or another pattern has the name.
            EntryChanged: somebody else has changed the file since.
        """
        self._check_place(name)
        version = self._class_of(name, text).version
        self.files.save(name, text, base=base, author=author, note=note)
        current = self._version(name, version)
        assert current  # for the type checker: versions are never removed
        return current

    def remove(self, name: str) -> None:
        """Remove a chart's file; its versions stay. Blocks. Raises `UnknownPattern`, `InvalidInput`."""
        self._check_place(name)
        self.files.remove(name)

    def _check_place(self, name: str) -> None:
        """Raise `InvalidInput` unless a chart of this name may be in the folder of this installation."""
        if not self.is_own(name):
            raise InvalidInput({'name': f'its file is {self._path(name)}: change it there'})
        other = self.catalog.find(name)
        if other and not self.has(other.name):
            raise InvalidInput({'name': f'the pattern {other.name!r} has this name'})

    def _changed(self) -> Iterator[tuple[Path, Stamp | None]]:
        seen = self._seen
        folders = [*([self.folder] if self.folder else []), *self.folders]
        present = {
            folder / f'{name}{SUFFIX}': stamp
            for folder in folders
            for name, stamp in stamps_in(folder).items()
        }
        for path, stamp in present.items():
            if path not in seen or seen[path].stamp != stamp:
                yield path, stamp
        yield from ((path, None) for path in seen if path not in present)

    def _notice(self, path: Path, stamp: Stamp | None) -> Noticed:
        if stamp is None:
            return Noticed(path=path, stamp=None)
        name = path.name.removesuffix(SUFFIX)
        try:
            text = read_chart(path)
            pattern = self._class_of(name, text)
        except FileNotFoundError:
            return Noticed(path=path, stamp=None)
        except InvalidInput as error:
            return Noticed(
                path=path, stamp=stamp, pattern=self._last_good(path), faults=faults_of(path, error)
            )
        except EngineError as error:
            fault = Fault(path=str(path), line=0, problem=str(error))
            return Noticed(path=path, stamp=stamp, pattern=self._last_good(path), faults=(fault,))
        if self.folder:
            with suppress(EngineError):  # A folder that cannot be written still has charts to run.
                self.files.keep(name, text, saved=stamp[0] / 1e9)
        return Noticed(path=path, stamp=stamp, pattern=pattern)

    def _class_of(self, name: str, text: str) -> type[Pattern]:
        """Return the pattern that a text describes. Raises `InvalidInput`."""
        version = version_of(text)
        if known := self._classes.get((name, version)):
            return known
        pattern = load_chart(text, name=f'{name}{SUFFIX}')
        with self._lock:
            while len(self._classes) >= MAX_CLASSES:
                del self._classes[next(iter(self._classes))]
            return self._classes.setdefault((name, version), pattern)

    def _last_good(self, path: Path) -> type[Pattern] | None:
        """Return the version to be used while a file is wrong: the last one, or the newest that is right."""
        if (seen := self._seen.get(path)) and seen.pattern:
            return seen.pattern
        if path.parent != self.folder:
            return None
        name = path.name.removesuffix(SUFFIX)
        for version in reversed(self.files.versions(name)):
            with suppress(EngineError):
                return self._class_of(name, self.files.text(name, version.version))
        return None

    def _describe(self, noticed: Noticed) -> ChartInfo:
        name, pattern = noticed.path.name.removesuffix(SUFFIX), noticed.pattern
        is_own = noticed.path.parent == self.folder
        return ChartInfo(
            name=name,
            title=pattern.title if pattern else '',
            summary=' '.join(pattern.summary.split()) if pattern else '',
            version=self._version(name, pattern.version) if pattern else None,
            faults=tuple(fault for fault in self.catalog.faults if fault.path == str(noticed.path)),
            folder='' if is_own else str(noticed.path.parent),
        )

    def _version(self, name: str, version: str) -> ChartVersion | None:
        return self.files.version(name, version) if self.folder else None

    def has(self, name: str) -> bool:
        """Whether there is a chart of this name, or was. Blocks."""
        here = any(path.name == f'{name}{SUFFIX}' for path in self._seen)
        return here or bool(self.folder and self.files.has(name))

    def is_own(self, name: str) -> bool:
        """Whether a chart is in the folder of this installation, where it can be saved."""
        return self._path(name).parent == self.folder

    def _path(self, name: str) -> Path:
        here = (path for path in self._seen if path.name == f'{name}{SUFFIX}')
        return next(here, None) or self.files.path(name)


def charts_folder() -> Path:
    """Return the folder of the charts of this installation."""
    return home_folder() / 'charts'


def faults_of(path: Path, error: InvalidInput) -> tuple[Fault, ...]:
    """Return what is wrong with a chart, by line."""
    return tuple(
        Fault(path=str(path), line=line, problem=problem) for line, problem in by_line(error.problems).items()
    )


def by_line(problems: Mapping[str, str]) -> dict[int, str]:
    """Return problems of a text, whose keys end in a colon and the line, by line; several are joined."""
    joined: dict[int, str] = {}
    for where, problem in problems.items():
        number = where.rpartition(':')[2]
        line = int(number) if number.isdecimal() else 0
        joined[line] = f'{joined[line]}; {problem}' if line in joined else problem
    return dict(sorted(joined.items()))
