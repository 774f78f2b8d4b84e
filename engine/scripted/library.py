"""The library of scenarios: reads the files of assets/scenarios, and says where a bad one is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from engine.catalog import Fault
from engine.scripted.scenario import Scenario

FOLDER = Path(__file__).parents[2] / 'assets' / 'scenarios'
QuickLoader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
"""Reads YAML: the one in C where there is one, which is ten times as fast."""


class LOADER(QuickLoader):  # type: ignore[misc]
    """Reads `!file NAME` as the text of a file in the folder of the scenarios."""

    folder = FOLDER

    def file(self, node: yaml.Node) -> str:
        """The text. Raises `ValueError` for a file elsewhere."""
        path = (self.folder / str(node.value)).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError(f'!file {node.value}: it is outside of the folder')
        return path.read_text('utf-8')


LOADER.add_constructor('!file', LOADER.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A task that the scripted model knows, as a launch form offers it."""

    name: str
    title: str
    about: str
    task: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values for the pattern's `Parameters`, with the task in its field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The scenarios of a folder, by name, and what is wrong with the files that hold none."""

    scenarios: tuple[Scenario, ...] = ()
    faults: tuple[Fault, ...] = ()

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Library:
        """Read every `.yaml` file; a bad one is a fault, and the others load."""
        read = [_read(path) for path in sorted(folder.glob('*.yaml'))]
        return cls(
            scenarios=tuple(item for item in read if isinstance(item, Scenario)),
            faults=tuple(item for item in read if isinstance(item, Fault)),
        )

    def find(self, pattern: str, task: str) -> Scenario | None:
        """The scenario that knows the task: of several, the one with the most to match."""
        fitting = [scenario for scenario in self.scenarios if scenario.fits(pattern, task)]
        return max(fitting, key=lambda found: len(''.join(found.match)), default=None)


@cache
def shipped() -> Library:
    """The scenarios that come with Hemicycle, read once."""
    return Library.load()


def scenarios(pattern: str) -> list[Sample]:
    """The sample tasks of a pattern, for a launch form."""
    return [
        Sample(
            name=found.name,
            title=found.title,
            about=found.about,
            task=found.task,
            parameters={**found.parameters, found.field: found.task},
        )
        for found in sorted(shipped().scenarios, key=lambda found: (found.order, found.name))
        if found.pattern == pattern
    ]


def _read(path: Path) -> Scenario | Fault:
    try:
        loader = LOADER(path.read_text('utf-8'))
        loader.folder = path.parent
        try:
            node = loader.get_single_node()
            data = loader.construct_document(node) if node else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        return Fault(path=str(path), line=line, problem=f'not YAML: {error.problem}')
    except (OSError, ValueError, yaml.YAMLError) as error:
        return Fault(path=str(path), line=0, problem=f'cannot be read: {error}')
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        first, *others = error.errors()
        where = '.'.join(map(str, first['loc'])) or 'the file'
        more = f' (and {len(others)} more)' if others else ''
        said = first['msg'].removeprefix('Value error, ')
        return Fault(path=str(path), line=_line(node, first['loc']), problem=f'{where}: {said}{more}')
    if scenario.name != path.stem:
        return Fault(
            path=str(path), line=_line(node, ('name',)), problem=f'name: must be {path.stem!r}, as the file'
        )
    return scenario


def _line(node: yaml.Node | None, at: tuple[int | str, ...]) -> int:
    """The line of a field in its file, or of the nearest thing around it."""
    for step in at:
        inner: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            inner = node.value[step]
        if inner is None:
            break
        node = inner
    return node.start_mark.line + 1 if node else 0
