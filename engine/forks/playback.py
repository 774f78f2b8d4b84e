"""Playback: gives a fork the endings, and what came from outside, as they were recorded in its parent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal

from engine.files.workspaces import Workspaces
from engine.forks.plays import Plays
from engine.forks.script import Called, Item, Script, asking
from engine.path import is_active, parent_of, within
from engine.records import Budget, Event, RunId, RunInfo, Shape, StatePath, Transition
from engine.state import AgentState, RunState
from engine.view import Ledger

UNRECORDED = 'nothing is recorded'
"""How the reason of a pause begins where a fork cannot go on without somebody's word."""
Way = Literal['keep', 'live', 'simulated', 'stop']
"""What becomes of work that is about to start: its ending is played, it is really done, or it may not be."""


class Player:
    """Plays a script to one run.

    While it is `strict`, nothing really happens: every step is the parent's, at the parent's time, and the
    budget, time-outs and breakpoints have the word they had then. Work that is really done is done in the
    present: from then on time passes, and what is recorded is given to the places it belongs to.

    Args:
        script: what is recorded.
        plays: what is to be played.
        ledger: of the run.
        shape: of its chart.
    """

    def __init__(self, script: Script, plays: Plays, ledger: Ledger, shape: Shape) -> None:
        self.plays, self._ledger = plays, ledger
        self._items, self._known = list(script.items), script.visits
        self._visits: Counter[str] = Counter()
        self._invoking = [state.path for state in shape.states if state.invokes]
        self._roles = {state.path: state.role for state in shape.states if state.role}
        self.strict = plays.strict
        self.held = False
        """Whether a person held the run while it was played."""
        self._one = False
        """Whether one thing is played although it is held: it was stepped."""
        self._debugged = False
        """Whether a person has set breakpoints, or stepped over or out: what is played halts there, too."""
        self.stopped = ''
        """Why it cannot go on without somebody's word, or ''."""
        self.released = False
        """Whether somebody gave that word: what is not recorded is done live."""
        self.parted = False
        """Whether the run has gone another way than its parent."""
        self._given_up: set[tuple[str, int]] = set()
        self._behind: dict[str, str] = {}
        """Folders that are not yet as what was played left them: their snapshots."""
        self._lock = asyncio.Lock()
        self.time = 0.0
        """When the item happened that was played last."""
        self._current: Item | None = None

    # What has happened

    def saw(self, steps: Sequence[Transition]) -> None:
        """Go on by steps of the run, of one turn."""
        for step in steps:
            self._visits.update(step.entered)
            event = step.event
            if step.raised:
                continue
            if event.played:
                self._take(event, steps[-1].active)
            elif event.name == 'breakpoints':
                self._debugged = True
            elif event.name in ('pause', 'resume', 'step', 'recover'):
                self._steered(event)
            elif self.strict:
                self.parted = True

    def skip(self, event: Event) -> None:
        """The run did not take an event that was played."""
        self._take(event, ())

    def _take(self, event: Event, active: tuple[StatePath, ...]) -> None:
        found = next((item for item in self._items if item.step == event.played), None)
        if found is None:
            return
        self._items.remove(found)
        self.parted = self.parted or found.active != active
        snapshots = event.data.get('snapshots') if event.name == 'done' else None
        if isinstance(snapshots, Mapping):
            files = self._ledger.files
            self._behind |= {name: files[name] for name in snapshots if name in files}

    def _steered(self, event: Event) -> None:
        if event.name == 'recover':
            self.strict = self.strict and 'left' not in event.data
            self.held = bool(event.data.get('paused', self.held))
            self.stopped = '' if 'left' in event.data else self.stopped
            return
        how = event.data.get('how') if event.name == 'step' else ''
        self._debugged = self._debugged or how in ('over', 'out')
        self._one = how == 'in'
        self.released = self.released or (event.name == 'resume' and bool(self.stopped))
        self.held = event.name == 'pause' or how == 'in'
        reason = str(event.data.get('reason', '')) if event.name == 'pause' else ''
        self.stopped = reason if reason.startswith(UNRECORDED) else ''

    # What happens next

    @property
    def waits(self) -> bool:
        """Whether a person holds what is played, and has not let this one thing through."""
        return self.strict and self.held and not self._one

    @property
    def overlooks(self) -> bool:
        """Whether breakpoints do not count: those that are recorded have had their word."""
        return self.strict and not self._debugged

    def next(
        self, started: Collection[StatePath], at_work: Collection[StatePath], state: RunState
    ) -> Item | None:
        """The item that is due, or None while there is none.

        Args:
            started: the states whose work has begun and is played.
            at_work: the states whose work is really done.
            state: the run's data.
        """
        if self.strict and not self.parted:
            return self._items[0] if self._items else None
        over: list[Item] = []
        for item in list(self._items):
            if item.control or (over and item.event.name == 'edit'):
                self._items.remove(item)
            elif item.ending and item.event.at in self._invoking:
                if self._is_over(item):
                    self._items.remove(item)
                elif self._fits(item, started, state):
                    return item
                elif item.event.at in at_work:
                    return None  # What came after it comes after it.
                else:
                    over.append(item)
            elif not over and self._taken(item, state):
                return item
            else:
                over.append(item)
        asked = (item for item in over if not item.ending and item.event.name != 'expired')
        return (
            None if at_work or started else next((item for item in asked if self._taken(item, state)), None)
        )

    def event(self, item: Item) -> Event:
        """An item as the run gets it."""
        self._current, self.time, event = item, item.time, item.event
        self._one = False
        since = self._ledger.entered.get(event.at, (0,))[0] if event.since else 0
        return replace(event, since=since, played=item.step)

    @property
    def started(self) -> tuple[StatePath, ...]:
        """The active states whose work would be under way, were it not played."""
        return tuple(path for path in self._invoking if path in self._ledger.entered)

    def way(self, path: StatePath, state: RunState) -> Way:
        """What becomes of work that is about to start in a state."""
        visit, attempt = self._visits[path], self._ledger.attempts.get(path, 1)
        item = next((item for item in self._items if self._is(item, path, visit, attempt)), None)
        play = self.plays.of(path, self._role(path, state), item.step if item else 0)
        if play == 'recorded' and (path, visit) not in self._given_up:
            if item is None and self._known[path] >= visit:
                return 'keep'  # In the parent it never ended: it was left.
            if item is not None and self._is_same(item, state):
                return 'keep'
        return play if play != 'recorded' else 'live' if self.released else self.plays.beyond

    def untold(self, agents: Collection[str]) -> set[StatePath]:
        """The states of agents that were at work when the current item told all others of the budget."""
        told = self._current.told if self._current else frozenset()
        return {StatePath(f'{path}.thinking') for path in agents if path not in told}

    def begin(self) -> Item | None:
        """The item that a run begins with, where all is played."""
        found = self._items[0] if self.strict and self._items else None
        return found if found and found.event.name == 'start' else None

    def leave(self) -> None:
        """From now on work is really done."""
        self.strict = False

    def give_up(self, paths: Collection[StatePath]) -> None:
        """Nothing is recorded that would end the work of these states any more."""
        self._given_up |= {(path, self._visits[path]) for path in paths}

    def cast(self, info: RunInfo, path: StatePath, state: RunState) -> RunInfo:
        """The run's summary as work of a state gets it: with other models where it is simulated."""
        return replace(info, models={'': 'scripted'}) if self.way(path, state) == 'simulated' else info

    def last_word(
        self, started: Collection[StatePath], state: RunState, budget: Budget | None
    ) -> Event | None:
        """What happens where nothing is played any more: the run is paused, or begins to work by itself."""
        self.give_up(started)
        stuck = [path for path in started if self.way(path, state) == 'stop']
        what = f'of how {", ".join(stuck or started)} ended' if started else 'any more'
        if stuck:
            return Event(name='pause', data={'reason': f'{UNRECORDED} {what}; resume to go on live'})
        if not self.strict:
            return None
        limits = {'budget': asdict(budget)} if budget else {}
        return Event(name='recover', data={'left': f'{UNRECORDED} {what}', **limits})

    async def files(self, workspaces: Workspaces, run: RunId) -> None:
        """Bring the agents' folders to where what was played left them."""
        async with self._lock:
            while self._behind:
                folder, snapshot = next(iter(self._behind.items()))
                await workspaces.of(run, folder).restore(snapshot)
                del self._behind[folder]

    def _is(self, item: Item, path: str, visit: int, attempt: int) -> bool:
        return item.ending and (item.event.at, item.visit, item.attempt) == (path, visit, attempt)

    def _is_over(self, item: Item) -> bool:
        path, visit = item.event.at, self._visits[item.event.at]
        if item.visit != visit:
            return item.visit < visit
        return not is_active(path, self._ledger.active) or item.attempt < self._ledger.attempts.get(path, 1)

    def _fits(self, item: Item, started: Collection[StatePath], state: RunState) -> bool:
        path = item.event.at
        return (
            path in started
            and item.visit == self._visits[path]
            and item.attempt == self._ledger.attempts.get(path, 1)
            and self.way(path, state) == 'keep'
        )

    def _taken(self, item: Item, state: RunState) -> bool:
        event = item.event
        if event.name == 'expired' and item.visit != self._visits[event.at]:
            return False
        if event.name == 'approve' and not self._is_allowed(item, state):
            return False
        return not event.at or is_active(event.at, self._ledger.active)

    def _is_same(self, item: Item, state: RunState) -> bool:
        """Whether a recorded batch of tools is that of the calls there are now."""
        home = parent_of(item.event.at)
        return item.calls is None or home not in state.agents or item.calls == _calls(state.agents[home])

    def _is_allowed(self, item: Item, state: RunState) -> bool:
        """Whether a person let the very calls pass that wait now."""
        waiting = asking(self._ledger.active)
        asked = [home for home in waiting if home in state.agents and within(home, item.event.at)]
        asked += [home for home in waiting if item.event.at == f'{home}.approving']
        return all(item.allowed.get(home) == _calls(state.agents[home]) for home in asked)

    def _role(self, path: str, state: RunState) -> str:
        home = parent_of(path)
        return state.agents[home].role if home in state.agents else self._roles.get(StatePath(home), '')


def _calls(agent: AgentState) -> Called:
    """The calls of tools that an agent asked for last."""
    last = next((message.calls for message in reversed(agent.messages) if message.calls), ())
    return tuple((call.name, call.arguments) for call in last)
