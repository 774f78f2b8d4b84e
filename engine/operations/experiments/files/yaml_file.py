"""Files of experiments: YAML, with an experiment and, if it has them, the cases themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import TypeAdapter, ValidationError

from engine.errors import InvalidInput
from engine.models.yaml_lines import QuickLoader, line_of, read_document
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.records import Experiment
from engine.records import Launch

SAMPLE: Final = Path(__file__).parents[4] / 'assets' / 'scenarios' / 'experiments' / 'sample.yaml'
"""An experiment that runs offline, and whose answer is known."""
MAX_FILE = 4 << 20
"""Maximum size of a file, in bytes."""
EXPERIMENT: TypeAdapter[Experiment] = TypeAdapter(Experiment)
CASES: TypeAdapter[list[Case]] = TypeAdapter(list[Case])


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentFile:
    """What a file holds."""

    experiment: Experiment
    cases: tuple[Case, ...] = ()
    """Its own cases, to be saved as the dataset that the experiment names; none if that exists already."""


def read_experiment(file: Path) -> ExperimentFile:
    """Read an experiment from a YAML file.

    Its `cases`, if it has some, are those of the dataset that it names; that is called like the experiment
    unless it says otherwise.

    Raises:
        OSError
        InvalidInput: names the file, the line and the field.
    """
    content = file.read_bytes() if file.stat().st_size <= MAX_FILE else b''
    if not content:
        raise InvalidInput({file.name: f'must have 1 byte to {MAX_FILE >> 20} MB'})
    try:
        text = content.decode('utf-8-sig')
        aliases = (event for event in yaml.parse(text, QuickLoader) if isinstance(event, yaml.AliasEvent))
        if alias := next(aliases, None):
            line = alias.start_mark.line + 1 if alias.start_mark else 1
            raise InvalidInput({f'{file.name}:{line}': 'anchors and aliases do not work here'})
        root, values = read_document(QuickLoader(text))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidInput({f'{file.name}:{line}': f'is not YAML: {error.problem}'}) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput({file.name: f'is not YAML: {error}'}) from None
    if not isinstance(values, Mapping):
        raise InvalidInput({file.name: 'must be a mapping with name, base, variants and scorers'})
    return _Reading(file.name, root).read(dict(values))


@dataclass(frozen=True, slots=True)
class _Reading:
    """Names the lines of what is wrong with a file."""

    name: str
    root: yaml.Node | None

    def read(self, values: dict[str, Any]) -> ExperimentFile:
        given = values.pop('cases', None)
        cases = self._check(CASES, given, ('cases',)) if given is not None else []
        if cases:
            values.setdefault('dataset', values.get('name', ''))
        experiment = self._check(EXPERIMENT, values, ())
        try:
            base = Launch.parse(values['base'])
        except InvalidInput as error:
            raise InvalidInput(
                {
                    self._place(('base', *field.split('.')), f'base.{field}'): text
                    for field, text in error.problems.items()
                }
            ) from None
        return ExperimentFile(experiment=replace(experiment, id='', base=base), cases=tuple(cases))

    def _check(self, kind: TypeAdapter[Any], value: Any, at: tuple[int | str, ...]) -> Any:
        try:
            return kind.validate_python(value)
        except ValidationError as error:
            problems = {}
            for item in error.errors():
                loc = (*at, *item['loc'])
                unknown = item['type'] in ('unexpected_keyword_argument', 'extra_forbidden')
                text = 'there is no such field' if unknown else item['msg'].removeprefix('Value error, ')
                problems[self._place(loc, '.'.join(map(str, loc)))] = text
            raise InvalidInput(problems) from None

    def _place(self, at: tuple[int | str, ...], field: str) -> str:
        return f'{self.name}:{line_of(self.root, at)}: {field}'
