"""Scorer: what judges a run of an experiment, and the evidence that it judges by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from typing_extensions import override

from engine.errors import ToolError
from engine.history.merging import RunMerging
from engine.journal.projection import Fold
from engine.operations.experiments.records import Mark, Miss, Score
from engine.records import Launch, Outcome, RunInfo, Transition, resolve_pointer, split_pointer
from engine.records.frozen import FrozenModel
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspaces import Workspaces

YES, NO = 1.0, 0.0


class Judged(Protocol):
    """The case of a run, as far as scorers need it."""

    @property
    def id(self) -> str:
        """Unique within its dataset."""

    @property
    def expectation(self) -> Any:
        """What is expected of the run, if it is known."""


class Bench(Protocol):
    """What scorers work with."""

    @property
    def workspaces(self) -> Workspaces:
        """The files of agents."""

    @property
    def sandbox(self) -> Sandbox:
        """Runs commands."""

    @property
    def merging(self) -> RunMerging:
        """Tests the work of agents."""

    async def judge(self, key: str, launch: Launch) -> Outcome:
        """Return the outcome of a run that judges another; the same key never starts a second one."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A run that has ended, with its case."""

    case: Judged
    info: RunInfo
    fold: Fold
    """The run at its end."""
    steps: Sequence[Transition]
    """All its steps, if a scorer reads them."""
    bench: Bench
    cell: str = ''
    """The cell of the run."""
    key: str = ''
    """Names this scoring: the id of a judge's run derives from it."""
    private: bool = False
    """Whether the runs of judges are private."""
    other: Evidence | None = None
    """The same case run by the first variant, once it has ended."""
    is_first: bool = False
    """Whether this is the first variant, with which others are compared."""
    marks: Sequence[Mark] = ()
    """People's marks of this run, alone and beside others."""

    @cached_property
    def answer(self) -> Any:
        """The run's result; None if its pattern names no field for it."""
        shape = self.fold.shape
        return self.fold.view.memory.get(shape.answer) if shape.answer else None

    def value(self, pointer: str) -> Any:
        """Return what the run remembers at a JSON Pointer; '' is its answer. Raises `ToolError`."""
        if not pointer:
            return self.answer
        return _at(dict(self.fold.view.memory), pointer, 'the run remembers')

    def expected(self, pointer: str) -> Any:
        """Return what its case expects at a JSON Pointer; '' is all of it. Raises `ToolError`."""
        if self.case.expectation is None:
            raise ToolError('its case has no expectation')
        return _at(self.case.expectation, pointer, 'the case expects')

    def files(self, agent: str) -> str:
        """Return the snapshot of an agent's folder; '' is the only one. Raises `ToolError`."""
        folders = self.fold.view.files
        if not agent and len(folders) == 1:
            return next(iter(folders.values()))
        if agent not in folders:
            raise ToolError(f'name the agent whose files to look at; there are files of: {_list(folders)}')
        return folders[agent]


class Scorer(FrozenModel, ABC):
    """Judges runs; its fields are its settings."""

    reads_steps: ClassVar[bool] = False
    """Whether it needs the steps of a run."""

    @property
    def judges_failures(self) -> bool:
        """Whether it also scores runs that did not end well."""
        return False

    @property
    def compares(self) -> bool:
        """Whether it compares a run with that of the first variant."""
        return False

    @property
    def judge(self) -> Launch | None:
        """A launch like those of the runs that judge for it; None if there are none."""
        return None

    @abstractmethod
    async def score(self, evidence: Evidence) -> Score:
        """Score a run. Raises `EngineError` if it cannot be scored: that is no low score."""


class AnyEndScorer(Scorer):
    """Judges, if it is told to, runs that did not end well, too."""

    any_end: bool = False
    """Whether it also scores runs that failed, were cancelled, or stopped where nothing is recorded."""

    @property
    @override
    def judges_failures(self) -> bool:
        """Whether it also scores runs that did not end well."""
        return self.any_end


def decide_by(misses: Sequence[Miss], reason: str = '') -> Score:
    """Return the score of what holds if nothing is missing."""
    if not misses:
        return decide(True, reason)
    return replace(decide(False, '; '.join(miss.text for miss in misses)), misses=tuple(misses))


def decide(holds: bool, reason: str = '') -> Score:
    """Return the score of what either holds or does not."""
    return Score(value=YES if holds else NO, reason=reason)


def _at(document: Any, pointer: str, where: str) -> Any:
    missing = object()
    value = resolve_pointer(document, split_pointer(pointer), missing)
    if value is missing:
        raise ToolError(f'{where} nothing at {pointer}')
    return value


def _list(names: Any) -> str:
    return ', '.join(sorted(names)) or 'none'
