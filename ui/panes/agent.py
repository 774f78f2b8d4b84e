"""The pane of one agent: who it is, where it stands, what it says and does, and what it asks a person."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from engine import Spending, StateShape, View, within
from ui.dialogs import ask
from ui.elements import Conversation
from ui.origins import origin_chip
from ui.panes.approval import Approval
from ui.panes.around import Around
from ui.panes.seat import SeatButton, seat_of
from ui.parts import Text
from ui.presenters.blocks import agent_blocks
from ui.presenters.calls import Calls
from ui.presenters.reading import gist, passed, place, span
from ui.presenters.spending import in_short
from ui.presenters.words import count
from ui.replay.history import latest
from ui.stepping.region import RegionControls
from ui.theme import button

QUIET = 15.0
"""Seconds without a sign of an agent that works, after which its pane says so."""
STAGES = {'approving': 'waiting', 'using_tools': 'running'}


class AgentPane:
    """One agent. It is open or folded by itself, until a person has clicked on its head."""

    def __init__(self, state: StateShape, around: Around, enlarge: Callable[[str], None]) -> None:
        self.state, self._around, self.name = state, around, around.named(state.path)
        self.opened: bool | None = None
        """Whether a person opened or folded the pane; None leaves it to the run."""
        self.pinned = False
        """Whether it stands in the grid of a parallel state, where nothing is folded."""
        self._leaf, self._heard = '', 0.0
        self._region = RegionControls(around.stepper, state.path)
        self._origins: tuple[str, ...] = ()
        with ui.element('section').classes('panel agent').props(f'aria-label="{self.name}"') as self.root:
            with ui.element('div').classes('panel-head agent-head'):
                with ui.element('button').classes('agent-toggle').props('type="button"') as self.head:
                    self.head.on('click', self._toggle)
                    self._title = Text('span', self.name, 'agent-name')
                    self._path = ui.label().classes('chip mono')
                    self._last = ui.label().classes('agent-last muted small')
                self._attempt, self._quiet = (Text('span', '', f'chip wait {name}') for name in ('', 'quiet'))
                self._seat = SeatButton(around, seat_of(state.path, around))
                self._enlarge = button('', icon='open_in_full', kind='quiet small', label='Enlarge this pane')
                self._enlarge.on('click', lambda: enlarge(state.path))
                self._region.draw_pause()
                self._stop = button('', icon='stop', kind='quiet small danger', label='Stop this agent')
                self._stop.on('click', self._ask_to_stop)
            with ui.element('div').classes('agent-facts') as self._facts:
                self._model = Text('span', '', 'agent-model')
                self._kind = ui.element('span').classes('ghost')
                self._numbers = Text('span', '', 'num')
                ui.element('span').classes('grow')
                self._time = ui.label().classes('num')
            self._trouble = Text('div', '', 'agent-trouble', role='status')
            self._region.draw_bar()
            with ui.element('div').classes('panel-body').props('tabindex="0"'):
                self.talk = Conversation([], label=f'What {self.name} says')
            self._approval = Approval(around.send, around.conductor.catalog.tools)
        for part in (self._quiet, self._attempt, self._trouble, self._enlarge):
            part.set_visibility(False)

    def show(
        self, view: View, agent: Mapping[str, Any] | None, *, live: bool, mine: bool, files: int | None
    ) -> None:
        """Show the agent as it is in `view`; None is one that has not begun.

        Args:
            view: the run at the step that is shown.
            agent: the dump of its `AgentState`.
            live: whether that step is the present.
            mine: whether this server can steer the run.
            files: how many files its folder holds, if it has one.
        """
        path, talk = self.state.path, agent or {}
        leaf = next((leaf for leaf in view.active if within(leaf, path)), '')
        if leaf != self._leaf:
            self._leaf, self._heard = leaf, view.entered[leaf][1] if leaf in view.entered else 0.0
        shape = self._around.shape.state(leaf)
        self.at_work = bool(leaf) and not (shape and shape.kind == 'final')
        self.name = self._around.named(path, str(talk.get('role', '')))
        self._title.show(self.name)
        self._fold(self.pinned or (bool(leaf) if self.opened is None else self.opened))
        self.root.classes(
            add='at-work' if self.at_work else '', remove='' if self.at_work else 'at-work'
        ).classes(add='failed' if talk.get('problem') else '', remove='' if talk.get('problem') else 'failed')
        known = self._calls(view.seq, leaf)
        blocks = agent_blocks(talk, known)
        self.talk.show(blocks)
        self._path.set_text(place(leaf.removeprefix(f'{path}.') if self.pinned else leaf))
        self._path.set_visibility(bool(leaf))
        said = [block['text'] for block in blocks if block['kind'] == 'text']
        self._last.set_text('' if self.unfolded or not said else gist(said[-1]))
        self._say_numbers(view, talk, files, blocks)
        self._say_origins(view)
        stoppable = leaf.endswith(('.thinking', '.using_tools'))  # what waits is answered with a no
        self._stop.set_visibility(stoppable and live and mine)
        self._seat.show(view, live=live, mine=mine)
        asks = live and mine and leaf.endswith('.approving')
        self._approval.show(self.name, leaf if asks else '', _calls_of(talk) if asks else ())

    def heard(self, pieces: Sequence[tuple[str, str]]) -> None:
        """Take in streamed pieces."""
        self._heard = time.time()
        for kind, piece in pieces:
            if kind == 'reset':
                self.talk.reset()
            else:
                self.talk.append(kind, piece)

    def pin(self, pinned: bool, *, alone: bool = False) -> None:
        """Stand in the grid of a parallel state, or not; `alone` is the one that is enlarged."""
        self.pinned = pinned
        self._enlarge.set_visibility(pinned)
        self.head.props(f'aria-disabled="{str(pinned).lower()}"')
        self.root.classes(add='region' if pinned else '', remove='' if pinned else 'region')
        wanted = ('close_fullscreen', 'Put the pane back') if alone else ('open_in_full', 'Enlarge this pane')
        if self._enlarge.props.get('aria-label') != wanted[1]:
            self._enlarge.props['aria-label'] = wanted[1]
            self._enlarge.clear()
            with self._enlarge:
                ui.icon(wanted[0])
                ui.tooltip(wanted[1])

    def tick(self, view: View, now: float, *, live: bool) -> None:
        """Show how long the agent has been at it, since when it is quiet, when it is tried again."""
        path = self.state.path
        entered = view.entered.get(path)
        stays = latest(self._around.history.stays, path, view.seq)
        spent = stays.until - stays.since if stays else None
        if entered:
            spent = passed(entered[1], now, self._around.born)
        self._time.set_text('' if spent is None else span(spent))
        self._say_trouble(view, now if live else None)
        quiet = now - self._heard
        working = live and self.at_work and not self._leaf.endswith('.approving') and not view.paused
        stalled = working and quiet >= QUIET and not self._trouble.visible
        self._quiet.show(f'nothing for {span(quiet)}' if stalled else '')
        self._quiet.set_visibility(stalled)

    @property
    def unfolded(self) -> bool:
        """Whether all of it is seen."""
        return 'open' in self.root.classes

    def _fold(self, unfold: bool) -> None:
        self.root.classes(add='open' if unfold else 'folded', remove='folded' if unfold else 'open')
        self.head.props(f'aria-expanded="{str(unfold).lower()}"')

    def _toggle(self) -> None:
        if not self.pinned:
            self.opened = not self.unfolded
            self._fold(self.opened)

    def _calls(self, seq: int, leaf: str) -> Calls:
        path, history = self.state.path, self._around.history
        stage = STAGES.get(leaf.rpartition('.')[2], 'asked' if leaf else 'dropped')
        tools, took = self._around.conductor.catalog.tools, history.took.get(path, {})
        return Calls(stage=stage, tools=tools, took=took, kept=self._around.kept)

    def _say_numbers(
        self, view: View, agent: Mapping[str, Any], files: int | None, blocks: Sequence[Mapping[str, Any]]
    ) -> None:
        spent = view.spending.get(self.state.path, Spending())
        used = sum(block['kind'] == 'tool' for block in blocks)
        facts = [
            in_short(spent.total),
            count(used, 'tool call') if used else '',
            count(files, 'file') if files else '',
        ]
        self._model.show(str(agent.get('model') or ''))
        self._numbers.show(' · '.join(filter(None, facts)))
        self._facts.set_visibility(bool(agent))

    def _say_origins(self, view: View) -> None:
        """Whether its replies are from a provider, played or recorded."""
        origins = view.spending.get(self.state.path, Spending()).origins
        if origins == self._origins:
            return
        self._origins = origins
        self._kind.clear()
        with self._kind:
            for origin in origins:
                origin_chip(origin)

    def _say_trouble(self, view: View, now: float | None) -> None:
        """What goes wrong with its calls: which attempt, why, how soon; or for whom a fallback stands in."""
        history, path = self._around.history, self.state.path
        number = view.attempts.get(f'{path}.thinking', 1)
        retry = latest(history.retries, path, view.seq) if number > 1 else None
        self._attempt.show(f'attempt {number}')
        self._attempt.set_visibility(number > 1)
        said = ''
        if retry and now is not None and self._heard <= retry.due:
            left = retry.due - now
            when = f'Retrying in {max(1, round(left))} s' if left > 0 and not view.paused else 'Trying again'
            said = f'{when} (attempt {retry.attempt}): {retry.error}'
        elif retry and now is None:
            said = f'Attempt {retry.attempt}, after: {retry.error}'
        elif (reply := latest(history.replies, path, view.seq)) and reply.failed:
            said = f'{reply.model} took over, since {"; ".join(reply.failed)}'
        self._trouble.show(said)
        self._trouble.set_visibility(bool(said))

    async def _ask_to_stop(self) -> None:
        text = 'What it does now is ended, and its state fails. The others go on as the pattern says.'
        if await ask(f'Stop {self.name.lower()}?', text, yes='Stop it', no='Let it go on'):
            data = {'error': 'a person stopped it'}
            await self._around.send('failed', self._leaf, data)


def _calls_of(agent: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = agent.get('messages') or [{'parts': ()}]
    return [part for part in messages[-1]['parts'] if part['kind'] == 'call']
