"""Records of experiments: what is compared, on which cases, and how each run came out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictBool, with_config

from engine.errors import EngineError, EventRefused
from engine.records import COMPUTED, Budget, Instant, Label, Launch, RunId, Status

MAX_VARIANTS, MAX_SCORERS, MAX_REPEATS, MAX_AT_ONCE = 20, 20, 100, 100
MAX_NAME, MAX_CASE = 200, 200
"""Maximum numbers of characters of a name, and of the id of a case."""
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Direction = Literal['higher', 'lower']
State = Literal['running', 'paused', 'scoring', 'done', 'cancelled', 'failed']
"""`scoring`: the runs that were made are scored again, and no more start. `failed`: it cannot go on, and its
`reason` says why; runs that failed are results."""


class UnknownExperiment(EngineError):
    """There is no experiment with that id."""

    def __init__(self, experiment: str) -> None:
        super().__init__(f'there is no experiment {experiment!r}')


class ExperimentRefused(EventRefused):
    """The experiment does not accept that event at present."""

    kind = 'experiment'


@with_config(ConfigDict(extra='forbid'))
@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way to run the cases: the experiment's base with some fields changed."""

    name: Annotated[Name, Label('Name')]
    change: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the launch that differ from the base; of those given by name or role, such as `parameters`
    and `models`, only the entries that differ; None takes back what the base gives to a role."""


@with_config(ConfigDict(extra='forbid'))
@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerSpec:
    """A scorer with its settings; `engine.operations.experiments.scorers` has the kinds."""

    name: Annotated[Name, Label('Name')]
    kind: Annotated[str, Field(max_length=50)]
    settings: Mapping[str, Any] = field(default_factory=dict)
    better: Annotated[
        Direction, Label('Better is', {'higher': 'A higher score', 'lower': 'A lower score'})
    ] = 'higher'
    """Which scores are better."""
    worth: Annotated[Annotated[float, Field(gt=0)] | None, Label('Smallest difference that matters')] = None
    """The smallest difference that matters; by default a twentieth of the scale."""


@with_config(ConfigDict(extra='forbid'))
@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Variants of a workflow, run on the same cases and scored alike."""

    id: Annotated[str, COMPUTED] = ''
    name: Annotated[Name, Label('Name')]
    """What to call it."""
    dataset: Annotated[str, Field(max_length=100)]
    """The dataset with the cases."""
    version: Annotated[str, Field(max_length=100)] = ''
    """The version of the dataset; by default the newest, which is then kept."""
    split: Annotated[str, Field(max_length=100)] = ''
    """Only the cases of this split."""
    base: Launch
    """How the cases are run, apart from what is in a case and what a variant changes."""
    variants: Annotated[tuple[Variant, ...], Field(min_length=1, max_length=MAX_VARIANTS)]
    """What is compared: each with the first."""
    scorers: Annotated[tuple[ScorerSpec, ...], Field(min_length=1, max_length=MAX_SCORERS)]
    """How runs are scored; the first decides which variant is better."""
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS), Label('Repeats')] = 1
    """How often each variant runs each case."""
    at_once: Annotated[int, Field(ge=1, le=MAX_AT_ONCE), Label('Runs at once')] = 4
    """How many of its runs are under way at the same time."""
    budget: Budget | None = None
    """Limits on all runs together: once one is reached, no more start."""
    recorded: Annotated[StrictBool, Label('Recorded replies')] = False
    """Answer from what the runs that cases were made from have recorded: no model is called."""
    stop_early: Annotated[StrictBool, Label('Stop early')] = False
    """Stop once a sequential test finds a variant better or worse than the first."""
    after: Annotated[str, Field(max_length=100)] = ''
    """An earlier experiment: what has not changed since is not run again."""
    fail_under: Annotated[float | None, Label('Regressed if worse than')] = None
    """The mean score of the first variant by the first scorer; a worse one is a regression."""
    state: Annotated[State, COMPUTED] = 'running'
    reason: Annotated[str, COMPUTED] = ''
    """Why it ended before all cases were run, or is paused."""
    created: Annotated[Instant, COMPUTED] = 0.0
    ended: Annotated[Instant, COMPUTED] = 0.0
    """When it was over; 0 before."""
    author: Annotated[str, COMPUTED] = ''
    digest: Annotated[str, COMPUTED] = ''
    """Of the scorers with which its runs are to be scored: others mean scoring them again."""
    parts: Annotated[Mapping[str, Mapping[str, str]], COMPUTED] = field(default_factory=dict)
    """By variant, digests of what decides its runs: what has changed since is told by them."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is done for it."""
        return self.state in ('done', 'cancelled', 'failed')

    @property
    def private(self) -> bool:
        """Whether only its author and administrators can see it, like its runs."""
        return self.base.private

    def again(self) -> Experiment:
        """Return it as it was before it was started: on the same cases, with patterns as they are today."""
        return replace(
            self,
            id='',
            state='running',
            reason='',
            created=0.0,
            ended=0.0,
            author='',
            digest='',
            parts={},
            after='',
        )

    def falls_short(self, mean: float | None) -> bool:
        """Whether this mean of the first scorer is worse than `fail_under`; no mean is."""
        if self.fail_under is None:
            return False
        lower = self.scorers[0].better == 'lower'
        return mean is None or (mean > self.fail_under if lower else mean < self.fail_under)


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """What was expected of a run and is not so."""

    what: str
    """What was expected: `status`, `answer`, or a condition on its way such as `visited`."""
    wanted: str
    came: str
    step: int = 0
    """The step at which it failed; 0 if it concerns no step."""

    @property
    def text(self) -> str:
        """It in words."""
        at = f' at step {self.step}' if self.step else ''
        return f'{self.what}{at}: expected {self.wanted}; actual: {self.came}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a scorer says of a run: None is not scored, which is no low score."""

    value: float | None = None
    reason: str = ''
    """Why, in a sentence or several."""
    waits: bool = False
    """Whether it is not scored yet: it waits for people, or for the run that it is compared with."""
    runs: tuple[RunId, ...] = ()
    """The runs of the agents that judged it."""
    misses: tuple[Miss, ...] = ()
    """One by one, what was expected and is not so."""


CellState = Literal['running', 'ended', 'scored']


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run of an experiment: a case run by a variant, and its scores by the names of the scorers."""

    id: str
    experiment: str
    case: str
    variant: str
    repeat: int
    """From 1."""
    run: RunId
    """Chosen before it is started, so that it is neither lost nor started twice."""
    state: CellState = 'running'
    """`ended` and not yet scored, or `scored` as far as that is possible now."""
    status: Status | None = None
    """How the run ended; one that failed has no scores except of scorers that judge failures."""
    error: str = ''
    scores: Mapping[str, Score] = field(default_factory=dict)
    scored_by: str = ''
    """The digest of the scorers that scored it."""
    tokens: int = 0
    dollars: float | None = 0.0
    """None if part of the cost is unknown."""
    seconds: float = 0.0
    judge_tokens: int = 0
    """What the runs of its judges have used, likewise `judge_dollars`."""
    judge_dollars: float | None = 0.0
    print: str = ''
    """The fingerprint of all that decides what the run does."""
    reused: bool = False
    """Whether the run was made for an earlier experiment."""
    changed: float = 0.0
    """Rises with each change within an experiment: a cursor."""
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPage:
    """The cells of an experiment that have changed since a cursor."""

    cells: tuple[Cell, ...]
    cursor: float
    """Give it as `since` to get what changes afterwards."""
    planned: int
    """How many runs there are to be, of all variants together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What a person thinks of a run of an experiment."""

    id: Annotated[str, COMPUTED] = ''
    experiment: Annotated[str, COMPUTED] = ''
    cell: Annotated[str, Field(max_length=100)]
    """The cell of the run."""
    over: Annotated[str, Field(max_length=100)] = ''
    """The cell of the run that it was compared with, side by side; '' if it was looked at alone."""
    value: Annotated[float, Field(ge=0, le=1)] | None = None
    """From 0 to 1: thumbs down and up are 0 and 1. Of two side by side: 1 if it is the better one, 0 if the
    other is, 0.5 if neither. None for a comment alone."""
    comment: Annotated[str, Field(max_length=10_000)] = ''
    author: Annotated[str, COMPUTED] = ''
    created: Annotated[Instant, COMPUTED] = 0.0


def digest_of(*values: Any) -> str:
    """Return a digest of JSON values that does not depend on the order of names."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(',', ':'))
    return hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:16]


def mark_id(mark: Mark) -> str:
    """Return the id of a mark, whose other fields are known."""
    return digest_of(mark.experiment, mark.cell, mark.over, mark.author, mark.created)


def cell_id(experiment: str, case: str, variant: str, repeat: int) -> str:
    """Return the id of a cell, which is also that of its run: the same for every attempt to start it."""
    return digest_of(experiment, case, variant, repeat)
