"""Folds transitions into what a screen shows; runs no pattern code, so old runs keep opening."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import reduce
from operator import add
from typing import Any, Self

from engine.budgets.meter import Meter
from engine.budgets.usage import grown, kept_spending, origin_of, read
from engine.files.objects import DIGEST
from engine.patch import fresh, patched
from engine.path import parent_of
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
from engine.stepping.halts import Halts


class Ledger:
    """What follows from a run's transitions without its memory: kept by a live run, and by every fold."""

    def __init__(self, shape: Shape) -> None:
        self._waits = {state.path: state.waits for state in shape.states if state.waits}
        self._agents = {state.path for state in shape.states if state.role}
        ends = {state.path for state in shape.states if state.kind == 'final'}
        self._rest = ends | set(self._waits)
        self.halts = Halts(ends)
        """What is held, where it stops, and steps under way."""
        self._finals = {
            state.path: state.outcome for state in shape.states if state.kind == 'final' and not state.parent
        }
        self.seq = 0
        self.time = self.started = self.ran = 0.0
        """When the last step and the first one were, and the seconds that it has run, without pauses."""
        self.active: tuple[StatePath, ...] = ()
        self.entered: dict[str, tuple[int, float]] = {}
        self.attempts: dict[str, int] = {}
        self.usage = Usage()
        self.spending: dict[str, Spending] = {}
        """Per agent's path: what it has used."""
        self.files: dict[str, str] = {}
        """The latest snapshot of each agent's folder, by its path."""
        self.meter = Meter()
        """Of its budget."""
        self.cancelled = self.aborted = False
        self.error = ''
        self.settle()

    def take(self, transition: Transition) -> None:
        """Go on by one step."""
        event = transition.event
        if event.name != 'recover':  # Until then nobody had it.
            self.ran = self.ran_at(transition.time)
        if self.status is Status.RUNNING and self.seq and event.name != 'recover':
            # What passed before a recovery is not counted: the run had no process for most of it.
            self.meter.running += transition.time - self.time
        self.seq, self.time = transition.seq, transition.time
        self.started = self.started or transition.time
        for path in transition.left:
            self.entered.pop(path, None)
            self.attempts.pop(path, None)
        for path in transition.entered:
            self.entered[path] = (transition.seq, transition.time)
        self.active = transition.active
        self.halts.move(transition.entered, transition.left, transition.active)
        if not transition.raised:
            self._control(transition)
        if not transition.raised and 'usage' in event.data:
            self._count(event)
        if event.name in ('failed', 'expired') and event.data.get('error'):
            self.error = str(event.data['error'])
        if event.name == 'done' and not transition.raised and event.data.get('snapshots'):
            self._keep_files(event.data['snapshots'])
        self.settle()

    def _count(self, event: Event) -> None:
        used = read(event.data)
        home = parent_of(event.at)
        path = home if home in self._agents else event.at
        self.usage = reduce(add, used.values(), self.usage)
        if event.played:  # It was its parent that used it.
            self.meter.inherit(reduce(add, used.values(), Usage()))
        origin = 'replayed' if event.played and origin_of(event.data) == 'live' else origin_of(event.data)
        self.spending[path] = grown(self.spending.get(path, Spending()), used, origin)

    def ran_at(self, time: float) -> float:
        """The seconds that it will have run at `time`, if nothing happens until then."""
        return self.ran + (time - self.time if self.started and not self.paused else 0.0)

    def _keep_files(self, snapshots: Any) -> None:
        # An activity of a pattern's own may give something else under this name.
        if isinstance(snapshots, Mapping):
            found = {str(agent): str(snapshot) for agent, snapshot in snapshots.items()}
            self.files = self.files | {
                agent: snapshot for agent, snapshot in found.items() if DIGEST.fullmatch(snapshot)
            }

    def _control(self, transition: Transition) -> None:
        event = transition.event
        self.meter.take(event, transition.seq, self.usage)
        self.halts.take(event.name, event.at, event.data, transition.active)
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
        """Why the run failed or was cancelled, or what went wrong last; empty when all is well."""
        status = self.status
        if status is Status.FAILED and not self.error:
            return f'it ended in {self.active[0]}' if self.active else 'it was aborted'
        return '' if status is Status.DONE else self.error

    def settle(self) -> None:
        """Work out what follows from the rest: `outcome`, `waiting` and `status`."""
        self.outcome = self._finals.get(self.active[0], '') if len(self.active) == 1 else ''
        """The outcome of the final state the run is in, or ''."""
        self.waiting = next((self._waits[path] for path in self.active if path in self._waits), '')
        """What a person is asked for, or ''."""
        self.paused = self.halts.hold_all(self.active)
        """Whether all that could go on is held."""
        self.status = self._status()
        """What the run is doing."""

    def _status(self) -> Status:
        if self.cancelled:
            return Status.CANCELLED
        if self.aborted or self.outcome == 'failed':
            return Status.FAILED
        if self.outcome:
            return Status.DONE
        if self.paused:
            return Status.PAUSED
        # A region that waits does not stop the others: the run waits when nothing else goes on.
        going = (leaf for leaf in self.active if not self.halts.holds(leaf))
        return Status.WAITING if self.waiting and self._rest.issuperset(going) else Status.RUNNING


class Fold:
    """A run read up to some step. `take` goes on by one; a document that was taken from it stays as it is."""

    def __init__(self, run: RunId, shape: Shape) -> None:
        self.run, self.shape = run, shape
        self.ledger = Ledger(shape)
        self.document: dict[str, Any] = {'memory': {}, 'agents': {}, 'told': {}}

    def take(self, transition: Transition) -> Self:
        """Go on by one step."""
        if transition.event.name == 'start':
            self.document = {**self.document, 'memory': transition.event.data.get('memory', {})}
        self.ledger.take(transition)
        self.document = patched(self.document, transition.changes)
        return self

    def take_all(self, transitions: Iterable[Transition]) -> Self:
        """Go on by all of them."""
        for transition in transitions:
            self.take(transition)
        return self

    @property
    def view(self) -> View:
        """The run at this step; all but memory and agents are the fold's own: good until the next `take`."""
        ledger = self.ledger
        return View(
            run=self.run,
            seq=ledger.seq,
            time=ledger.time,
            started=ledger.started,
            status=ledger.status,
            active=ledger.active,
            entered=ledger.entered,
            attempts=ledger.attempts,
            memory=self.document['memory'],
            agents=self.document['agents'],
            files=ledger.files,
            usage=ledger.usage,
            paused=ledger.paused,
            error=ledger.reason,
            waiting=ledger.waiting,
            ran=ledger.ran,
            spending=ledger.spending,
            seconds=ledger.meter.running,
            inherited=ledger.meter.inherited,
            budget=ledger.meter.gauges(ledger.usage),
            warnings=(*ledger.meter.warned.values(), *ledger.halts.problems),
            held=ledger.halts.held,
            stopped=ledger.halts.stopped,
            breakpoints=ledger.halts.breakpoints,
        )

    def snapshot(self) -> Snapshot:
        """All that is known here, as JSON values."""
        return snapshot_of(self.run, self.ledger, self.document)

    @classmethod
    def load(cls, snapshot: Snapshot, shape: Shape) -> Self:
        """Go on from a snapshot."""
        fold = cls(snapshot.run, shape)
        # The journal may hand out its own: what a ledger changes in place is copied, and a document is not.
        state = fresh({name: value for name, value in snapshot.state.items() if name != 'document'})
        fold.document = {'told': {}, **snapshot.state['document']}
        state['usage'] = Usage(**state['usage'])
        state['spending'] = kept_spending(state.get('spending'), fold.document['agents'])
        if meter := state.pop('meter', None):
            fold.ledger.meter.load(meter)
        else:
            fold.ledger.meter.running = max(0.0, state['time'] - state['started'])
        _load_halts(fold, state)
        state['active'] = tuple(state['active'])
        state['entered'] = {path: (int(seq), time) for path, (seq, time) in state['entered'].items()}
        for name, value in state.items():
            setattr(fold.ledger, name, value)
        fold.ledger.seq = snapshot.seq
        fold.ledger.settle()
        return fold


def _load_halts(fold: Fold, state: dict[str, Any]) -> None:
    """What is held; an old snapshot knows of the whole run, and of how often agents were visited."""
    paused, halts = state.pop('paused', False), state.pop('halts', None)
    if halts:
        fold.ledger.halts.load(halts)
        return
    agents = {path: int(agent.get('visits', 1)) for path, agent in fold.document['agents'].items()}
    fold.ledger.halts.says = {'': True} if paused else {}
    fold.ledger.halts.visits = dict.fromkeys(state['entered'], 1) | agents


KEPT = (
    'time', 'started', 'ran', 'active', 'entered', 'attempts', 'cancelled', 'aborted', 'error', 'files',
)  # fmt: skip


def snapshot_of(run: RunId, ledger: Ledger, document: Mapping[str, Any]) -> Snapshot:
    """A ledger and a document as one snapshot, which goes on as it is when they change."""
    state = {name: fresh(getattr(ledger, name)) for name in KEPT}
    return Snapshot(
        run=run,
        seq=ledger.seq,
        state={
            **state,
            'usage': asdict(ledger.usage),
            'spending': {path: asdict(spent) for path, spent in ledger.spending.items()},
            'meter': ledger.meter.dump(),
            'halts': ledger.halts.dump(),
            'document': document,
        },
    )


def fold(run: RunId, shape: Shape, transitions: Iterable[Transition]) -> View:
    """The view after `transitions`, which begin with the run's first."""
    return Fold(run, shape).take_all(transitions).view


__all__ = ['RUN', 'Fold', 'Ledger', 'fold', 'snapshot_of']
