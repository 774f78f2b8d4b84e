"""Files of experiments: YAML, with an experiment and, if it has them, the cases themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from engine.errors import InvalidInput
from engine.models.yaml_lines import QuickLoader, line_of, read_document
from engine.operations.experiments.datasets import RECORDED_OPTIONS, Case
from engine.operations.experiments.records import Experiment
from engine.records import COMPUTED, Launch

SAMPLE: Final = Path(__file__).parents[4] / 'assets' / 'scenarios' / 'experiments' / 'sample.yaml'
"""An experiment that runs offline, and whose answer is known."""
MAX_FILE = 64 << 20
"""Maximum size of a file, in bytes."""
EXPERIMENT: TypeAdapter[Experiment] = TypeAdapter(Experiment)
CASE: TypeAdapter[Case] = TypeAdapter(Case)
CASES: TypeAdapter[list[Case]] = TypeAdapter(list[Case])
HINTS: Final = get_type_hints(Experiment, include_extras=True)
NOT_IN_FILES: Final = {name for name, hint in HINTS.items() if COMPUTED in get_args(hint)}
"""Fields of an experiment that it gets once it is started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentFile:
    """What a file holds."""

    experiment: Experiment
    cases: tuple[Case, ...] = ()
    """Its own cases, to be saved as the dataset that the experiment names; none if that exists already."""


def to_values(file: ExperimentFile) -> dict[str, Any]:
    """Return what `read_experiment` reads as the same file, as JSON values without defaults."""
    experiment, base = file.experiment, file.experiment.base
    values = EXPERIMENT.dump_python(experiment, mode='json', exclude_defaults=True, exclude=NOT_IN_FILES)
    if experiment.dataset == experiment.name:
        del values['dataset']
    cases = []
    for case in file.cases:
        written = CASE.dump_python(case, mode='json', exclude_defaults=True)
        if recording := case.recording:
            content = written['recording']
            for step in content['steps']:
                del step['run']
            if recording.pattern == base.pattern:
                del content['pattern']
            if dict(recording.options) == _recorded_options(base):
                content.pop('options', None)
        cases.append(written)
    return {**values, **({'cases': cases} if cases else {})}


def _recorded_options(base: Launch) -> dict[str, Any]:
    return {name: value for name, value in base.options.items() if name in RECORDED_OPTIONS}


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


def _with_runs(cases: Any) -> Any:
    """Return the cases of a file with the field that their steps do not have there: which run they are of."""
    for case in cases if isinstance(cases, list) else ():
        recording = case.get('recording') if isinstance(case, dict) else None
        steps = recording.get('steps') if isinstance(recording, dict) else None
        for step in steps if isinstance(steps, list) else ():
            if isinstance(step, dict):
                step.setdefault('run', '')
    return cases


def _complete(case: Case, base: Launch) -> Case:
    """Return a case whose recording says of itself what the file says once for all."""
    recording = case.recording
    if recording is None:
        return case
    options = recording.options or _recorded_options(base)
    pattern = recording.pattern or base.pattern
    return replace(case, recording=replace(recording, pattern=pattern, options=options))


@dataclass(frozen=True, slots=True)
class _Reading:
    """Names the lines of what is wrong with a file."""

    name: str
    root: yaml.Node | None

    def read(self, values: dict[str, Any]) -> ExperimentFile:
        given = _with_runs(values.pop('cases', None))
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
        cases = [_complete(case, base) for case in cases]
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
