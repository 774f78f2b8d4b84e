"""The scenario library: loads the files of assets/scenarios and locates their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from engine.errors import Fault
from engine.models.scripted.scenario import Scenario
from engine.models.yaml_lines import QuickLoader, line_of, read_document

FOLDER = Path(__file__).parents[3] / 'assets' / 'scenarios'
ABOUT = ('project', 'transcript', 'change')
"""Parameters that a task is about; a scenario's answers fit only its own values of them."""


class ScenarioLoader(QuickLoader):  # type: ignore[misc]
    """Loads `!file NAME` as the text of a file in the scenario folder."""

    folder = FOLDER

    def file(self, node: yaml.Node) -> str:
        """Read the file. Raises `ValueError` if it is outside the folder."""
        path = (self.folder / str(node.value)).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError(f'!file {node.value}: it is outside the folder')
        return path.read_text('utf-8')


ScenarioLoader.add_constructor('!file', ScenarioLoader.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A task known to the scripted model, as offered by a launch form."""

    name: str
    title: str
    about: str
    task: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values for the pattern's `Parameters`, including the task."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The models of its roles, in place of the scripted model."""
    stubs: Mapping[str, Any] = field(default_factory=dict)
    """What its agents say, in place of any model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A folder's scenarios by name, and the errors of files that failed to load."""

    scenarios: tuple[Scenario, ...] = ()
    faults: tuple[Fault, ...] = ()

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Library:
        """Load every `.yaml` file; a bad one is recorded as a fault and the others still load."""
        read = [_load_scenario(path) for path in sorted(folder.glob('*.yaml'))]
        return cls(
            scenarios=tuple(item for item in read if isinstance(item, Scenario)),
            faults=tuple(item for item in read if isinstance(item, Fault)),
        )

    def find(self, pattern: str, task: str) -> Scenario | None:
        """Find the scenario for a task; of several, the one with the longest words to match."""
        fitting = [scenario for scenario in self.scenarios if scenario.fits(pattern, task)]
        return max(fitting, key=lambda item: len(''.join(item.match)), default=None)


@cache
def bundled_scenarios() -> Library:
    """Return the scenarios bundled with Hemicycle, loaded once."""
    return Library.load()


def scenarios(pattern: str) -> list[Sample]:
    """Return a pattern's sample tasks, for a launch form."""
    return [
        Sample(
            name=scenario.name,
            title=scenario.title,
            about=scenario.about,
            task=scenario.task,
            parameters={**scenario.parameters, scenario.field: scenario.task},
            models=scenario.models,
        )
        for scenario in sorted(
            bundled_scenarios().scenarios, key=lambda scenario: (scenario.order, scenario.name)
        )
        if scenario.pattern == pattern
    ]


def has_scenario(pattern: str, task: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether the scripted model knows this task; a scenario about a project fits no other one."""
    scenario = bundled_scenarios().find(pattern, task)
    return scenario is not None and all(
        parameters.get(name) == scenario.parameters[name] for name in ABOUT if name in scenario.parameters
    )


def _load_scenario(path: Path) -> Scenario | Fault:
    try:
        loader = ScenarioLoader(path.read_text('utf-8'))
        loader.folder = path.parent
        node, data = read_document(loader)
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
        reason = first['msg'].removeprefix('Value error, ')
        return Fault(path=str(path), line=line_of(node, first['loc']), problem=f'{where}: {reason}{more}')
    if scenario.name != path.stem:
        return Fault(
            path=str(path), line=line_of(node, ('name',)), problem=f'name: must be {path.stem!r}, as the file'
        )
    return scenario
