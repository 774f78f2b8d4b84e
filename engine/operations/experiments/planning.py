"""Planning: the runs of an experiment, and what decides whether one has to be made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from pydantic_core import to_jsonable_python

from engine.configuration.catalog import Catalog
from engine.errors import EngineError, InvalidInput
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.records import Cell, Experiment, Variant, cell_id, digest_of
from engine.records import Budget, Launch, RunId
from engine.records.launch import check_files
from engine.records.run_info import MAX_TAG, MAX_TAGS, MAX_TITLE

BY_ROLE: Final = ('models', 'effort', 'instructions', 'tools', 'stubs')
"""Fields of a launch that are given by role."""
TAKEN_BACK: Final = (*BY_ROLE, 'files')
"""Fields of which None for an entry takes back what the base gives."""
MERGED: Final = ('parameters', *TAKEN_BACK)
"""Fields of a launch of which a variant gives only the entries that differ."""
OWN: Final = {
    'title': 'the case, the variant and the repeat name its runs',
    'replay': 'a recording fits one run only',
    'paused': 'its runs have to start',
    'breakpoints': 'its runs would stop there',
}
"""Fields of a launch that are not for experiments, and why."""
TAG = 'experiment:'
"""The runs of an experiment have the tag `experiment:ID`."""
MAX_PROBLEMS = 20
MAX_RUNS = 20_000
"""The most runs of an experiment: its answer is computed from all of them, at once."""
MAX_SEED = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What runs use; None where there is no bound, or none is known."""

    calls: float | None = 0
    tokens: float | None = 0
    dollars: float | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the runs to make use, those of judges included."""

    least_calls: float = 0
    """The fewest calls, if nothing fails."""
    most: Amounts = Amounts()
    """At worst: each run uses all its turns, attempts and rounds."""
    usual: Amounts | None = None
    """By the medians of earlier runs, of those patterns that have any; None if none has. Dollars are known by
    earlier runs with the same models."""
    earlier: int = 0
    """How many earlier runs `usual` rests on."""
    unknown: tuple[str, ...] = ()
    """The patterns of which no run has ended yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an experiment would do, before anything is started."""

    cases: int
    runs: int
    """Runs to make."""
    reused: int = 0
    """Runs that an earlier experiment has made, and nothing that decides them has changed."""
    judges: int = 0
    """Runs of judges, at most: runs that fail are not judged."""
    estimate: Estimate = Estimate()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By variant, what has changed since the earlier experiment: a field of the launch such as `models`, the
    `version` of the pattern, `cases`; `new` for a variant that it did not have."""


def launch_of(base: Launch, variant: Variant) -> Launch:
    """Return how a variant runs its cases. Raises `InvalidInput`."""
    values = dict(variant.change)
    for name in MERGED:
        if name in values and isinstance(values[name], Mapping):
            values[name] = {**getattr(base, name), **values[name]}
        if name in values and name in TAKEN_BACK:
            values[name] = {key: value for key, value in values[name].items() if value is not None}
    return base.change(values)


def change_between(base: Launch, launch: Launch) -> dict[str, Any]:
    """Return the change of a variant that makes `launch` of `base`: what it gives that the base does not."""
    change: dict[str, Any] = {}
    for item in fields(Launch):
        before, after = getattr(base, item.name), getattr(launch, item.name)
        if item.name in OWN or after == before:
            continue
        if item.name in MERGED:
            taken_back = dict.fromkeys(before.keys() - after.keys()) if item.name in TAKEN_BACK else {}
            after = {key: value for key, value in after.items() if key not in before or before[key] != value}
            after |= taken_back
        if after != {}:
            change[item.name] = asdict(after) if isinstance(after, Budget) else after
    return change


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run of an experiment to come."""

    cell: Cell
    launch: Launch
    case: Case


class Planner:
    """The runs of an experiment, in the order in which they start: all variants of a case together.

    They have the versions of their patterns that the experiment has begun with.

    Args:
        experiment: what is compared.
        cases: those to run.
        catalog: has the patterns.

    Raises:
        UnknownPattern
        InvalidInput: names the variant, or the case, and the field.
    """

    def __init__(self, experiment: Experiment, cases: Sequence[Case], catalog: Catalog) -> None:
        self.experiment, self.cases, self._catalog = experiment, cases, catalog
        self._launches: dict[str, Launch] = {}
        self._default_parameters: dict[tuple[str, str], Mapping[str, Any]] = {}
        problems: dict[str, str] = {}
        for place, variant in enumerate(experiment.variants):
            at = f'variants.{place}'
            if variant.name in self._launches:
                problems[f'{at}.name'] = f'there are two variants {variant.name!r}'
            try:
                launch = launch_of(experiment.base, variant)
                begun = experiment.parts.get(variant.name, {}).get('version', '')
                version = catalog.pattern(launch.pattern, launch.version or begun).version
                self._launches[variant.name] = launch = replace(launch, version=version)
            except InvalidInput as error:
                problems |= {f'{at}.change.{name}': text for name, text in error.problems.items()}
                continue
            default = Launch(pattern='')
            problems |= {
                f'{at}.change.{name}' if name in variant.change else f'base.{name}': why
                for name, why in OWN.items()
                if getattr(launch, name) != getattr(default, name)
            }
            if experiment.recorded and (launch.stubs or launch.record):
                problems['recorded'] = f'does not go with stubs, or with recording ({variant.name})'
        if problems:
            raise InvalidInput(problems)

    def check(self) -> None:
        """Check the parameters of all runs. Raises `InvalidInput`, which names the cases."""
        problems: dict[str, str] = {}
        if not self.cases:
            split = self.experiment.split
            problems['split' if split else 'dataset'] = (
                f'the dataset has no cases in {split!r}' if split else 'the dataset has no cases'
            )
        runs = len(self.cases) * len(self._launches) * self.experiment.repeats
        if runs > MAX_RUNS:
            raise InvalidInput({'repeats': f'there would be {runs:,} runs; the most are {MAX_RUNS:,}'})
        for case in self.cases:
            for variant in self._launches:
                launch = self.launch(case, variant, 1)
                try:
                    self._catalog.pattern(launch.pattern, launch.version).parse(launch.parameters)
                    check_files(launch.files)
                except InvalidInput as error:
                    problems |= {
                        f'cases.{case.id}.{name}': f'{text} (variant {variant!r})'
                        for name, text in error.problems.items()
                    }
            if len(problems) >= MAX_PROBLEMS:
                break
        if problems:
            raise InvalidInput(problems)

    def launch(self, case: Case, variant: str, repeat: int) -> Launch:
        """Return the launch of a run: the base, what its case gives, and what the variant changes."""
        launch, experiment = self._launches[variant], self.experiment
        change = next(item.change for item in experiment.variants if item.name == variant)
        changed = change.get('parameters', {})
        files = {**launch.files, **case.files, **change.get('files', {})}
        files = {path: content for path, content in files.items() if content is not None}
        parameters = {**launch.parameters, **case.parameters, **changed}
        if launch.pattern != experiment.base.pattern:
            known = self._catalog.pattern(launch.pattern, launch.version).Parameters.model_fields
            parameters = {
                name: value for name, value in parameters.items() if name in known or name in changed
            }
        tags = (f'{TAG}{experiment.id}', f'variant:{variant}'[:MAX_TAG], f'case:{case.id}'[:MAX_TAG])
        return replace(
            launch,
            replay=case.source if experiment.recorded else '',
            parameters=parameters,
            files=files,
            title=f'{case.id} · {variant}{f" · {repeat}" if experiment.repeats > 1 else ""}'[:MAX_TITLE],
            tags=(*launch.tags[: MAX_TAGS - len(tags)], *tags),
            seed=(launch.seed + repeat - 1) % (MAX_SEED + 1),
        )

    def places(self) -> Iterator[tuple[Case, str, int]]:
        """Yield the case, the variant and the repeat of each run, in the order in which they start."""
        for case in self.cases:
            for repeat in range(1, self.experiment.repeats + 1):
                for variant in self._launches:
                    yield case, variant, repeat

    def runs(self) -> Iterator[PlannedRun]:
        """Yield all runs, planned anew at each call, so that thousands take no memory."""
        for case, variant, repeat in self.places():
            yield self.plan(case, variant, repeat)

    def plan(self, case: Case, variant: str, repeat: int) -> PlannedRun:
        """Return one run."""
        launch = self.launch(case, variant, repeat)
        key = cell_id(self.experiment.id, case.id, variant, repeat)
        cell = Cell(
            id=key,
            experiment=self.experiment.id,
            case=case.id,
            variant=variant,
            repeat=repeat,
            run=RunId(key),
            print=self._fingerprint(launch, repeat),
        )
        return PlannedRun(cell=cell, launch=launch, case=case)

    def sample_launches(self) -> dict[str, Launch]:
        """Return by variant how it runs the first case."""
        return {name: self.launch(self.cases[0], name, 1) for name in self._launches}

    def parts(self) -> dict[str, dict[str, str]]:
        """Return by variant the digests of what decides its runs, by part."""
        return {
            name: {
                **{part: digest_of(value) for part, value in self._deciding(launch).items()},
                'version': launch.version,
                'cases': self.experiment.version,
            }
            for name, launch in self._launches.items()
        }

    def _fingerprint(self, launch: Launch, repeat: int) -> str:
        return digest_of(self._deciding(launch), launch.version, repeat)

    def _deciding(self, launch: Launch) -> dict[str, Any]:
        """Return what of a launch decides what its run does; a default is the same if it is given."""
        return {
            'pattern': launch.pattern,
            'parameters': {**self._defaults(launch.pattern, launch.version), **launch.parameters},
            'models': dict(launch.models),
            'seed': launch.seed,
            'budget': launch.budget and asdict(launch.budget),
            **({'files': dict(launch.files)} if launch.files else {}),
            **{name: value for name, value in launch.options.items() if name != 'record'},
        }

    def _defaults(self, pattern: str, version: str) -> Mapping[str, Any]:
        key = (pattern, version)
        if key not in self._default_parameters:
            known = self._catalog.pattern(pattern, version).Parameters.model_fields
            defaults = {
                name: item.get_default(call_default_factory=True)
                for name, item in known.items()
                if not item.is_required()
            }
            self._default_parameters[key] = to_jsonable_python(defaults, fallback=str)
        return self._default_parameters[key]


def changes_since(before: Mapping[str, Mapping[str, str]], now: Planner) -> dict[str, tuple[str, ...]]:
    """Return by variant the parts that differ from those of an earlier experiment (see `Planner.parts`)."""
    changed: dict[str, tuple[str, ...]] = {}
    for name, parts in now.parts().items():
        old = before.get(name)
        if old is None:
            changed[name] = ('new',)
        elif differing := tuple(part for part in sorted({*parts, *old}) if parts.get(part) != old.get(part)):
            changed[name] = differing
    return changed


@contextmanager
def naming(field: str, unknown: type[EngineError]) -> Iterator[None]:
    """Say of something unknown which field of an experiment names it. Raises `InvalidInput`."""
    try:
        yield
    except unknown as error:
        raise InvalidInput({field: str(error)}) from None
