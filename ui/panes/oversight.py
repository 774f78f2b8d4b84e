"""Supervision: the ladder of escalation with what was sent, and the gates with their conditions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from engine import ACTIONS, TRIGGERS, Level, View
from ui.elements import Conversation
from ui.panes.around import Around
from ui.parts import Text, fold
from ui.presenters.oversight import Gate, Sent, gates_of, level_now, sent_of, words
from ui.presenters.reading import speaker
from ui.presenters.words import count
from ui.replay.live import Follower
from ui.theme import button, empty

AT_ONCE = 40
"""Gates that are drawn before somebody asks for all."""


class OversightPane:
    """Both, at the step that is shown."""

    def __init__(
        self, around: Around, follower: Follower, seek: Callable[[int | None], Awaitable[None]]
    ) -> None:
        self._shape, self._follower, self._seek = around.shape, follower, seek
        self._view: View | None = None
        self._drawn: object = None
        self._opened = self._all = False
        self._unfolded: set[str] = set()
        self._root = ui.element('div').classes('oversight')

    def open(self, opened: bool) -> None:
        """Whether anybody looks."""
        self._opened = opened
        if opened and self._view is not None:
            self.show(self._view)

    def show(self, view: View) -> None:
        """Show it at this step."""
        self._view = view
        asked = self._shape.oversight
        if not self._opened or asked is None:
            return
        gates = gates_of(self._shape, view, self._follower.index.grown.steps(asked.verdicts))
        sent = sent_of(self._shape, view, self._follower.index.grown.steps(asked.interventions))
        level, issues = level_now(self._shape, view), view.memory.get(asked.issues, 0)
        if (gates, sent, level, issues, self._all) == self._drawn:
            return
        self._drawn = (gates, sent, level, issues, self._all)
        self._root.clear()
        with self._root:
            self._ladder(sent, level, issues if isinstance(issues, int) else 0, gates)
            Text('h2', 'Gates')
            if not gates:
                empty('rule', 'Nothing has stood before a gate yet.')
            newest = gates[::-1]
            for gate in newest if self._all else newest[:AT_ONCE]:
                self._gate(gate)
            if len(newest) > AT_ONCE and not self._all:
                more = button(f'Show {len(newest) - AT_ONCE} earlier', icon='expand_more', kind='quiet')
                more.on('click', self._show_all)

    def _show_all(self) -> None:
        self._all = True
        if self._view is not None:
            self.show(self._view)

    def _ladder(self, sent: Sequence[Sent], level: str, issues: int, gates: Sequence[Gate]) -> None:
        Text('h2', 'Escalation')
        Text('p', _why(level, issues, gates), 'oversight-why')
        with ui.element('ol').classes('levels'):
            for step in Level:
                own = [one for one in sent if one.level == step.value]
                here = step.value == level
                with ui.element('li').classes(f'level {step.value.lower()} {"here" if here else ""}') as made:
                    if here:
                        made.props('aria-current="step"')
                    with ui.element('div').classes('level-head'):
                        Text('b', step.value)
                        Text('span', ACTIONS[step], '')
                        if here:
                            Text('span', 'here now', 'chip strong')
                        ui.element('span').classes('grow')
                        Text('span', TRIGGERS[step], 'muted small')
                    if own:
                        with self._fold(f'rung {step.value}', f'{count(len(own), "message")} sent'):
                            for one in reversed(own):
                                self._sent(one)

    def _sent(self, one: Sent) -> None:
        with ui.element('div').classes('sent'):
            with ui.element('div').classes('sent-head'):
                Text('b', f'To {speaker(one.agent)}')
                about = f', step {one.about} of the plan' if one.about else ''
                Text('span', f'score {one.score}{about}', 'muted small')
                ui.element('span').classes('grow')
                self._link(one.seq)
            Conversation([{'kind': 'text', 'text': one.message}], label='What was sent', follow=False)

    def _gate(self, gate: Gate) -> None:
        with ui.element('article').classes(f'gate {"passed" if gate.passed else "held"}'):
            with ui.element('div').classes('gate-head'):
                ui.icon('check_circle' if gate.passed else 'front_hand').props(
                    'size="18px" aria-hidden="true"'
                )
                Text('h3', gate.title)
                Text('span', 'passed' if gate.passed else 'held back', 'gate-state')
                threshold = '' if gate.threshold is None else f' of at least {gate.threshold}'
                Text('span', f'score {gate.score}{threshold}', 'num muted small')
                if gate.degraded:
                    Text('span', 'degraded', 'chip wait')
                ui.element('span').classes('grow')
                self._link(gate.seq)
            with ui.element('ul').classes('conditions'):
                for name, holds in gate.conditions:
                    with ui.element('li').classes('holds' if holds else 'fails'):
                        ui.icon('check' if holds else 'close').props('size="16px" aria-hidden="true"')
                        Text('span', words(name))
                        if not holds:
                            Text('b', 'does not hold')
            said = '\n\n'.join(
                filter(None, [gate.summary, *(f'- {issue}' for issue in gate.issues), gate.evidence])
            )
            if said:
                with self._fold(f'gate {gate.seq} {gate.title}', 'What the supervisor said'):
                    Conversation(
                        [{'kind': 'text', 'text': said}], label='What the supervisor said', follow=False
                    )

    def _fold(self, key: str, title: str) -> ui.element:
        return fold(self._unfolded, key, title, 'oversight-fold', 'oversight-said')

    def _link(self, seq: int) -> None:
        if seq:
            button(f'Step {seq}', kind='quiet small').on('click', lambda: self._seek(seq))


def _why(level: str, issues: int, gates: Sequence[Gate]) -> str:
    """Why it stands where it stands."""
    if not gates:
        return 'Nothing was verified so far.'
    last = gates[-1]
    counted = 'no issue in a row' if not issues else f'{count(issues, "issue")} in a row'
    held = f'; not met: {", ".join(last.held_back)}' if last.held_back else ''
    return f'{level}: the last verification, {last.title.lower()}, scored {last.score}, with {counted}{held}.'
