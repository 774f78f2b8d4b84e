"""Projection: folds transitions into a run's state without pattern code, so old runs can be opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import reduce
from operator import add
from typing import Any, Self

from engine.journal.budget_meter import BudgetMeter
from engine.journal.pause_state import PauseState
from engine.journal.usage_records import (
    add_spending,
    load_spending,
    origin_of,
    settle_estimates,
    usage_from_dict,
)
from engine.records import (
    RUN,
    Event,
    RunId,
    Shape,
    Snapshot,
    Spending,
    StatePath,
    Status,
    Transition,
    Usage,
    View,
)
from engine.records.document import (
    TAILS,
    Fresh,
    LongList,
    LongMemory,
    PartialSnapshot,
    apply_patch,
    deep_copy,
    long_lists,
)
from engine.records.events import DIGEST
from engine.records.frozen import evolve
from engine.records.payloads import snapshots_of
from engine.records.shape import parent_of
from engine.records.usage import SOURCES

EMPTY_DOCUMENT: Mapping[str, Any] = {'memory': {}, 'agents': {}, 'told': {}, 'history': {}}
"""The data of a run before its first step."""

MAX_KEYS = 100
"""Number of a run's latest event keys to remember: a sender without an answer retries soon."""


class RunProjection:
    """A run's derived state, without its memory; part of live runs and of every fold."""

    def __init__(self, shape: Shape) -> None:
        self._waits = {state.path: state.waits for state in shape.states if state.waits}
        self._agents = {state.path for state in shape.states if state.role}
        ends = {state.path for state in shape.states if state.kind == 'final'}
        self._rest = ends | set(self._waits)
        self.pauses = PauseState(ends)
        """The debugger's state: held regions, breakpoints and pending steps."""
        self._finals = {
            state.path: state.outcome for state in shape.states if state.kind == 'final' and not state.parent
        }
        self.seq = 0
        self.time = self.started = self.ran = 0.0
        """The times of the last and the first step, and the seconds of running, pauses excluded."""
        self.inherited_ran = self.paused_since = 0.0
        """The part of `ran` inherited from a fork's parent; when the run was paused, by its step, or 0."""
        self.active: tuple[StatePath, ...] = ()
        self.entered: dict[str, tuple[int, float]] = {}
        self.attempts: dict[str, int] = {}
        self.usage = Usage()
        self.spending: dict[str, Spending] = {}
        """The usage of each agent, by path."""
        self.files: dict[str, str] = {}
        """The latest snapshot of each agent's folder, by path."""
        self.meter = BudgetMeter()
        """The budget's state."""
        self.keys: tuple[str, ...] = ()
        """The keys of the latest events that have one."""
        self.cancelled = self.aborted = False
        self.error = self.caveat = ''
        """The latest error, and how the result falls short according to the pattern."""
        self._caveat_field = shape.caveat
        self.derive()

    def apply(self, transition: Transition) -> None:
        """Update to the next step; steps must come in order."""
        event = transition.event
        self._count_time(transition)
        for path in transition.left:
            self.entered.pop(path, None)
            self.attempts.pop(path, None)
        for path in transition.entered:
            self.entered[path] = (transition.seq, transition.time)
        self.active = transition.active
        self.pauses.apply_step(transition.entered, transition.left, transition.active)
        if not transition.raised:
            self._control(transition)
        if not transition.raised and 'usage' in event.data:
            self._count(event)
        if event.name in ('failed', 'expired') and event.data.get('error'):
            self.error = str(event.data['error'])
        if not transition.raised and (snapshots := snapshots_of(event)):
            self._keep_files(snapshots)
        if self._caveat_field:
            self._follow_caveat(transition)
        self.derive()
        self.paused_since = (self.paused_since or self.time) if self.paused else 0.0

    def _count_time(self, transition: Transition) -> None:
        event = transition.event
        if event.name != 'recover':  # For most of the time before one, no process had the run.
            self.ran = self.ran_at(transition.time)
            if self.status is Status.RUNNING and self.seq:
                self.meter.running += transition.time - self.time
        elif 'forked' in event.data:
            self.inherited_ran = self.ran
        self.seq, self.time = transition.seq, transition.time
        self.started = self.started or transition.time

    def _follow_caveat(self, transition: Transition) -> None:
        if transition.event.name == 'start':
            memory = transition.event.data.get('memory', {})
            self.caveat = str(memory.get(self._caveat_field, ''))
        for change in transition.changes:
            if change.path == f'/memory/{self._caveat_field}':
                self.caveat = str(change.value or '')

    def _count(self, event: Event) -> None:
        used = usage_from_dict(event.data)
        home = parent_of(event.at)
        path = home if home in self._agents else event.at
        self.usage = reduce(add, used.values(), self.usage)
        if event.played:  # The parent paid for it.
            self.meter.inherit(reduce(add, used.values(), Usage()))
        origin = 'replayed' if event.played and origin_of(event.data) == 'live' else origin_of(event.data)
        spent = add_spending(self.spending.get(path, Spending()), used, origin)
        usage = event.data['usage']
        settles = isinstance(usage, Mapping) and usage.get('settles') is True
        self.spending[path] = settle_estimates(spent, used) if settles else spent
        if settles:
            sources = {spent.total.source for spent in self.spending.values()}
            self.usage = evolve(self.usage, source=max(sources, key=SOURCES.index))

    def ran_at(self, time: float) -> float:
        """Return the seconds of running at `time`, if nothing happens until then."""
        return self.ran + (time - self.time if self.started and not self.paused else 0.0)

    def _keep_files(self, snapshots: Mapping[str, Any]) -> None:
        # A pattern's own activity may use this name for something else.
        named = {str(agent): str(snapshot) for agent, snapshot in snapshots.items()}
        self.files = self.files | {
            agent: snapshot for agent, snapshot in named.items() if DIGEST.fullmatch(snapshot)
        }

    def _control(self, transition: Transition) -> None:
        event = transition.event
        if event.key:
            self.keys = (*self.keys[1 - MAX_KEYS :], event.key)
        self.meter.apply(event, transition.seq, self.usage)
        self.pauses.apply(event.name, event.at, event.data, transition.active)
        match event.name:
            case 'recover' if event.data.get('retried'):
                self.attempts = {}
            case 'cancel':
                self.cancelled, self.error = True, str(event.data.get('reason', ''))
            case 'abort':
                self.aborted, self.error = True, str(event.data.get('error', ''))
            case 'retry':
                self.attempts[event.at] = event.attempt
            case 'exhaust' | 'exhausted':
                self.error = str(event.data.get('reason') or event.data.get('error', ''))
            case 'extend' if self.error == self.meter.reason:
                self.error = ''

    @property
    def reason(self) -> str:
        """Why the run failed or was cancelled, how its result falls short, or the latest error."""
        status = self.status
        if status is Status.DONE:
            return self.caveat
        if status is Status.WAITING:
            return self.caveat or self.error
        if status is Status.FAILED and not self.aborted:
            return self.caveat or self.error or f'it ended in {self.active[0]}'
        return self.error or ('it was aborted' if self.aborted else '')

    def derive(self) -> None:
        """Derive `outcome`, `waiting`, `paused` and `status`."""
        self.outcome = self._finals.get(self.active[0], '') if len(self.active) == 1 else ''
        """The outcome of the final state the run is in, or ''."""
        self.waiting = next((self._waits[path] for path in self.active if path in self._waits), '')
        """What the run is waiting for a person to do, or ''."""
        self.paused = self.pauses.hold_all(self.active)
        """Whether everything that could proceed is held."""
        self.status = self._status()
        """The run's status."""

    def _status(self) -> Status:
        if self.cancelled:
            return Status.CANCELLED
        if self.aborted or self.outcome == 'failed':
            return Status.FAILED
        if self.outcome:
            return Status.DONE
        if self.paused:
            return Status.PAUSED
        # A waiting region does not stop the others: the run waits only when nothing else proceeds.
        going = (leaf for leaf in self.active if not self.pauses.holds(leaf))
        return Status.WAITING if self.waiting and self._rest.issuperset(going) else Status.RUNNING


class Fold:
    """A run as of some step. `apply` applies the next one; documents returned earlier stay unchanged."""

    def __init__(self, run: RunId, shape: Shape) -> None:
        self.run, self.shape = run, shape
        self.projection = RunProjection(shape)
        self._document: dict[str, Any] = {**EMPTY_DOCUMENT}
        self._defers = False
        """Whether the document may have long lists that have not been read."""

    def apply(self, transition: Transition) -> Self:
        """Update to the next step; steps must come in order."""
        return self.apply_all((transition,))

    def apply_all(self, transitions: Iterable[Transition]) -> Self:
        """Apply steps in order."""
        fresh: Fresh = {}
        for transition in transitions:
            if transition.event.name == 'start':
                self._document = {**self._document, 'memory': transition.event.data.get('memory', {})}
            self.projection.apply(transition)
            if transition.changes:
                self._document = apply_patch(self._document, transition.changes, fresh)
        return self

    @property
    def memory(self) -> Mapping[str, Any]:
        """The run's memory; long lists may be read only on access."""
        memory: dict[str, Any] = self._document['memory']
        return LongMemory(memory) if self._defers else memory

    @property
    def document(self) -> Mapping[str, Any]:
        """The run's memory, its agents, and the number of notices each has seen."""
        return {**self._document, 'memory': self.memory} if self._defers else self._document

    @property
    def unchanged(self) -> dict[str, int]:
        """By memory field: how many leading items of a long list are as in the latest snapshot."""
        fields = self._document['memory'].items() if self._defers else ()
        return {name: value.unchanged for name, value in fields if isinstance(value, LongList)}

    @property
    def view(self) -> View:
        """The run at this step; valid until the next `apply`.

        Everything but memory and agents is shared with the fold.
        """
        projection = self.projection
        return View(
            run=self.run,
            seq=projection.seq,
            time=projection.time,
            started=projection.started,
            status=projection.status,
            active=projection.active,
            entered=projection.entered,
            attempts=projection.attempts,
            memory=self.memory,
            agents=self._document['agents'],
            files=projection.files,
            usage=projection.usage,
            paused=projection.paused,
            error=projection.reason,
            waiting=projection.waiting,
            ran=projection.ran,
            inherited_ran=projection.inherited_ran,
            paused_since=projection.paused_since,
            spending=projection.spending,
            seconds=projection.meter.running,
            inherited=projection.meter.inherited,
            budget=projection.meter.gauges(projection.usage),
            warnings=(*projection.meter.warned.values(), *projection.pauses.problems),
            held=projection.pauses.held,
            stopped=projection.pauses.stopped,
            breakpoints=projection.pauses.breakpoints,
        )

    def snapshot(self) -> Snapshot:
        """Return the complete fold state as JSON values, with long lists as the fold has them."""
        return snapshot_of(self.run, self.projection, self._document)

    @classmethod
    def load(cls, snapshot: Snapshot, shape: Shape) -> Self:
        """Return the fold as of a snapshot, which is left unchanged."""
        fold = cls(snapshot.run, shape)
        # The journal may return its own objects: copy those modified in place, which documents are not.
        state = deep_copy(
            {name: value for name, value in snapshot.state.items() if name not in ('document', TAILS)}
        )
        fold._document = document = {**EMPTY_DOCUMENT, **snapshot.state['document']}
        if isinstance(snapshot, PartialSnapshot):
            unchanged = long_lists(snapshot)
            lists = {name: LongList(read, unchanged[name]) for name, read in snapshot.lists.items()}
            document['memory'] = {**document['memory'], **lists}
        fold._defers = any(isinstance(value, LongList) for value in document['memory'].values())
        state['usage'] = Usage(**state['usage'])
        state['spending'] = load_spending(state['spending'])
        fold.projection.meter.load(state.pop('meter'))
        fold.projection.pauses.load(state.pop('pauses'))
        state['active'], state['keys'] = tuple(state['active']), tuple(state['keys'])
        state['entered'] = {path: (int(seq), time) for path, (seq, time) in state['entered'].items()}
        for name, value in state.items():
            setattr(fold.projection, name, value)
        fold.projection.seq = snapshot.seq
        fold.projection.derive()
        return fold


DUMPED_FIELDS = (
    'time', 'started', 'ran', 'inherited_ran', 'paused_since', 'active', 'entered', 'attempts', 'cancelled',
    'aborted', 'error', 'caveat', 'files', 'keys',
)  # fmt: skip


def snapshot_of(
    run: RunId,
    projection: RunProjection,
    document: Mapping[str, Any],
    tails: Mapping[str, tuple[int, list[Any]]] | None = None,
) -> Snapshot:
    """Return a projection and a document as one snapshot, unaffected by later changes to them.

    Args:
        run: the run.
        projection: the derived state.
        document: the run's data.
        tails: of the long lists that are not in the document, by memory field; see `records.document`.
    """
    state = {name: deep_copy(getattr(projection, name)) for name in DUMPED_FIELDS}
    return Snapshot(
        run=run,
        seq=projection.seq,
        state={
            **state,
            'usage': asdict(projection.usage),
            'spending': {path: asdict(spent) for path, spent in projection.spending.items()},
            'meter': projection.meter.dump(),
            'pauses': projection.pauses.dump(),
            'document': document,
            **({TAILS: tails} if tails else {}),
        },
    )


def fold(run: RunId, shape: Shape, transitions: Iterable[Transition]) -> View:
    """Return the view after `transitions`, which start at the run's first."""
    return Fold(run, shape).apply_all(transitions).view


__all__ = ['RUN', 'Fold', 'RunProjection', 'fold', 'snapshot_of']
