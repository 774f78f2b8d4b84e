"""The agents of a run: a pane for each at work, side by side, and a folded line for the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui

from engine import Shape, StateShape, Status, View
from ui.elements import Conversation
from ui.reading import agent_blocks, place, readable, short, span, speaker
from ui.theme import WORDS, button, empty

Send = Callable[[str, str, dict[str, Any]], Awaitable[None]]
"""Hands an event to the run: its name, its address, its data."""


class AgentPane:
    """One agent: who it is, where it stands, what it says."""

    def __init__(self, state: StateShape, shape: Shape, send: Send) -> None:
        self.state, self._shape, self._send = state, shape, send
        self.opened: bool | None = None
        """Whether a person opened or folded the pane; None leaves it to the run."""
        with (
            ui.element('section')
            .classes('panel agent')
            .props(f'aria-label="{speaker(state.role)}"') as self.root
        ):
            with ui.element('button').classes('panel-head agent-head').props('type="button"') as self.head:
                self.head.on('click', self._toggle)
                ui.label(speaker(state.role)).classes('agent-name')
                self._path = ui.label().classes('chip mono')
                self._last = ui.label().classes('agent-last muted small')
                ui.element('span').classes('grow')
                self._attempt = ui.label().classes('chip wait')
                self._model = ui.label().classes('muted small agent-model')
                self._tokens = ui.label().classes('muted small num')
                self._time = ui.label().classes('muted small num')
            with ui.element('div').classes('panel-body').props('tabindex="0"'):
                self.talk = Conversation([], label=f'What {speaker(state.role)} says')
            with ui.element('div').classes('approval') as self._approval:
                pass
        self._approval.set_visibility(False)
        self._asked: object = None

    def show(self, view: View, agent: Mapping[str, Any], *, live: bool) -> None:
        """Show the agent as it is in `view`."""
        path = self.state.path
        leaf = next((leaf for leaf in view.active if leaf.startswith(f'{path}.')), '')
        at_work = bool(leaf) and self._kind(leaf) != 'final'
        unfold = bool(leaf) if self.opened is None else self.opened
        self.root.classes(add='open' if unfold else 'folded', remove='folded' if unfold else 'open')
        self.root.classes(add='at-work' if at_work else '', remove='' if at_work else 'at-work')
        self.head.props(f'aria-expanded="{str(unfold).lower()}"')
        blocks = agent_blocks(agent)
        self.talk.show(blocks)
        self._path.set_text(place(leaf))
        self._path.set_visibility(bool(leaf))
        said = [block['text'] for block in blocks if block['kind'] == 'text']
        self._last.set_text('' if unfold or not said else short(said[-1].replace('*', ''), 140))
        attempt = view.attempts.get(f'{path}.thinking', 1)
        self._attempt.set_text(f'attempt {attempt}' if attempt > 1 else '')
        self._attempt.set_visibility(attempt > 1)
        self._model.set_text(str(agent.get('model') or ''))
        spent = agent.get('input_tokens', 0), agent.get('output_tokens', 0)
        self._tokens.set_text(f'{spent[0]:,} in · {spent[1]:,} out' if any(spent) else '')
        self._ask(agent, leaf if live and leaf.endswith('.approving') else '')

    def tick(self, view: View, now: float) -> None:
        """Show how long the agent has been at it."""
        entered = view.entered.get(self.state.path)
        self._time.set_text(span(now - entered[1]) if entered else '')

    def _kind(self, leaf: str) -> str:
        state = self._shape.state(leaf)
        return state.kind if state else ''

    def _toggle(self) -> None:
        self.opened = 'folded' in self.root.classes
        self.root.classes(add='open' if self.opened else 'folded', remove='folded' if self.opened else 'open')
        self.head.props(f'aria-expanded="{str(self.opened).lower()}"')

    def _ask(self, agent: Mapping[str, Any], leaf: str) -> None:
        calls = [part for part in agent['messages'][-1]['parts'] if part['kind'] == 'call'] if leaf else []
        asked = (leaf, [call['id'] for call in calls])
        if asked == self._asked:
            return
        self._asked = asked
        self._approval.clear()
        self._approval.set_visibility(bool(leaf))
        if not leaf:
            return
        with self._approval:
            names = ', '.join(call['name'] for call in calls)
            ui.label(f'May {speaker(self.state.role).lower()} use {names}?').classes('approval-question')
            reason = ui.input(label='Reason, if not').props('dense outlined').classes('grow')
            yes = button('Allow once', icon='check', kind='primary')
            yes.on('click', lambda: self._send('approve', leaf, {}))
            always = button('Allow for this run')
            always.on('click', lambda: self._send('approve', leaf, {'always': True}))
            no = button('Deny', icon='block', kind='danger')
            no.on('click', lambda: self._send('deny', leaf, {'reason': reason.value or ''}))


class AgentPanes:
    """All agents of a run, arranged by what is active, with the result above them when there is one."""

    def __init__(self, shape: Shape, send: Send) -> None:
        self._shape = shape
        with ui.element('div').classes('agents') as self.root:
            with (
                ui.element('section')
                .classes('panel agent open result')
                .props('aria-label="Result"') as self._result
            ):
                with ui.element('div').classes('panel-head'):
                    ui.icon('flag')
                    ui.label('Result').classes('agent-name')
                    self._verdict = ui.label().classes('muted small')
                with ui.element('div').classes('panel-body').props('tabindex="0"'):
                    self._answer = Conversation([], label='Result', follow=False)
            self._panes: dict[str, AgentPane] = {
                state.path: AgentPane(state, shape, send) for state in shape.states if state.role
            }
            with ui.element('div').classes('panel nobody') as self._nobody:
                empty('hourglass_empty', 'No agent has been asked anything yet.')

    def show(self, view: View, *, live: bool) -> None:
        """Arrange and fill the panes for `view`."""
        for path, pane in self._panes.items():
            agent = view.agents.get(path)
            pane.root.set_visibility(agent is not None)
            if agent is not None:
                pane.show(view, agent, live=live)
        # The open panes share the height that the folded lines leave.
        folded = sum(
            'folded' in pane.root.classes for path, pane in self._panes.items() if path in view.agents
        )
        self.root.style(f'--folded: {folded}')
        self._nobody.set_visibility(not view.agents)
        answer = view.memory.get(self._shape.answer) if self._shape.answer and view.status.ended else None
        shown = view.status.ended and (bool(answer) or bool(view.error))
        self._result.set_visibility(shown)
        if shown:
            failed = view.status is not Status.DONE
            text = f'**{WORDS[view.status]}.** {view.error}\n\n' if failed else ''
            body = answer if isinstance(answer, str) else readable(str(answer or ''))
            self._answer.show([{'kind': 'text', 'text': text + (body or '')}])
            self._verdict.set_text('the last draft before it ended' if failed and body else '')

    def stream(self, text: Mapping[str, list[tuple[str, str]]]) -> None:
        """Add streamed pieces to their panes."""
        for path, pieces in text.items():
            pane = self._panes.get(path)
            for kind, piece in pieces if pane else ():
                if pane and kind == 'reset':
                    pane.talk.reset()
                elif pane:
                    pane.talk.append(kind, piece)

    def still(self) -> None:
        """Take all streamed text away: what is shown is not the present."""
        for pane in self._panes.values():
            pane.talk.reset()

    def tick(self, view: View, now: float) -> None:
        """Let the clocks of the panes go on."""
        for pane in self._panes.values():
            pane.tick(view, now)
