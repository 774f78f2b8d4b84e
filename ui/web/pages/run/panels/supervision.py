"""Supervision: quality gates with their conditions, and interventions by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nicegui import ui

from engine.patterns import ACTIONS, GATE_TITLES, TRIGGERS, Escalation, Level, VerificationResult
from engine.records import Shape, View
from engine.statechart import read_leniently
from ui.formatting.steps import role_title
from ui.formatting.values import count
from ui.web.components.elements import draw_markdown
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, CachedElement, Text, disclosure
from ui.web.pages.run.pane import LazyPanel, RunPage
from ui.web.replay.history import Position, pad_positions

PANEL = 'supervision'
MAX_GATES = 40
"""Maximum number of gates drawn at first."""


class Supervision(LazyPanel):
    """Gates and interventions, at the step that is shown."""

    title = 'Supervision'
    panel = PANEL

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._shape, self._follower = page.context.shape, page.follower
        self._all = False
        self._unfolded: set[str] = set()
        self._root = CachedElement('oversight')

    def fill(self, view: View) -> None:
        """Draw gates and interventions at the step of `view`, if they have changed."""
        shape, steps = self._shape, self._follower.index.history.appended_to
        gates = gates_of(shape, view, steps(shape.field(PANEL, 'verdicts')))
        sent = interventions_of(shape, view, steps(shape.field(PANEL, 'interventions')))
        level, issues = current_level(shape, view), view.memory.get(shape.field(PANEL, 'issues'), 0)
        if not self._root.clear_if_changed((gates, sent, level, issues, self._all)):
            return
        with self._root:
            self._draw_levels(sent, level, issues if isinstance(issues, int) else 0, gates)
            Text('h2', 'Gates')
            if not gates:
                empty_state('rule', 'No gate has been reached yet.')
            newest = gates[::-1]
            for gate in newest if self._all else newest[:MAX_GATES]:
                self._draw_gate(gate)
            if len(newest) > MAX_GATES and not self._all:
                more = button(f'Show {len(newest) - MAX_GATES} earlier', icon='expand_more', kind='quiet')
                more.on('click', self._show_all)

    def _show_all(self) -> None:
        self._all = True
        self.refresh()

    def _draw_levels(
        self, sent: Sequence[Intervention], level: str, issues: int, gates: Sequence[Gate]
    ) -> None:
        Text('h2', 'Escalation')
        Text('p', _explain_level(level, issues, gates), 'oversight-why')
        with Box('levels', 'ol'):
            for step in Level:
                own = [intervention for intervention in sent if intervention.escalation.level == step.value]
                here = step.value == level
                with Box(f'level {step.value.lower()} {"here" if here else ""}', 'li') as entry:
                    if here:
                        entry.props('aria-current="step"')
                    with Box('level-head'):
                        Text('b', step.value.capitalize())
                        Text('span', ACTIONS[step], '')
                        if here:
                            Text('span', 'current', 'chip strong')
                        Box('grow', 'span')
                        Text('span', TRIGGERS[step], 'muted small')
                    if own:
                        with self._draw_fold(f'rung {step.value}', f'{count(len(own), "message")} sent'):
                            for intervention in reversed(own):
                                self._draw_intervention(intervention)

    def _draw_intervention(self, intervention: Intervention) -> None:
        escalation = intervention.escalation
        with Box('sent'):
            with Box('sent-head'):
                Text('b', f'To {role_title(escalation.agent)}')
                about = f', step {escalation.step} of the plan' if escalation.step else ''
                Text('span', f'score {escalation.score}{about}', 'muted small')
                Box('grow', 'span')
                self._draw_link(intervention.seq)
            draw_markdown(escalation.message, 'Message')

    def _draw_gate(self, gate: Gate) -> None:
        result = gate.result
        with Box(f'gate {"passed" if result.passed else "held"}', 'article'):
            with Box('gate-head'):
                ui.icon('check_circle' if result.passed else 'front_hand', size='18px')
                Text('h3', gate.title)
                Text('span', 'passed' if result.passed else 'held back', 'gate-state')
                threshold = '' if result.threshold is None else f' (at least {result.threshold})'
                Text('span', f'score {result.score}{threshold}', 'num muted small')
                if result.degraded:
                    Text('span', 'degraded', 'chip wait')
                Box('grow', 'span')
                self._draw_link(gate.seq)
            with Box('conditions', 'ul'):
                for name, holds in result.conditions:
                    with Box('holds' if holds else 'fails', 'li'):
                        ui.icon('check' if holds else 'close', size='16px')
                        Text('span', condition_title(name))
                        if not holds:
                            Text('b', 'not met')
            text = '\n\n'.join(
                filter(None, [result.summary, *(f'- {issue}' for issue in result.issues), result.evidence])
            )
            if text:
                with self._draw_fold(f'gate {gate.seq} {gate.title}', 'Supervisor’s assessment'):
                    draw_markdown(text, 'Supervisor’s assessment')

    def _draw_fold(self, key: str, title: str) -> ui.element:
        return disclosure(self._unfolded, key, title, 'panel-fold')

    def _draw_link(self, seq: int) -> None:
        if seq:
            button(f'Step {seq}', kind='quiet small').on('click', lambda: self.page.seek(seq))


def _explain_level(level: str, issues: int, gates: Sequence[Gate]) -> str:
    """Explain why the current level applies."""
    if not gates:
        return 'Nothing has been verified yet.'
    last = gates[-1]
    counted = f', with {count(issues, "issue")} in a row' if issues else ''
    missing = ', '.join(map(condition_title, last.result.unmet))
    unmet = f'; not met: {missing}' if missing else ''
    reason = f'the last verification, {last.title.lower()}, scored {last.result.score}{counted}{unmet}'
    return f'{level.capitalize()}: {reason}.'


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One check of the work at a gate."""

    result: VerificationResult
    seq: int
    """The step of the run; 0 while unknown."""

    @property
    def title(self) -> str:
        """The gate's name for people."""
        return GATE_TITLES.get(self.result.gate, condition_title(self.result.gate).capitalize())


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """One message of the supervisor to an agent."""

    escalation: Escalation
    seq: int


def condition_title(name: str) -> str:
    """Return the name of a condition for people."""
    return name.replace('_', ' ')


def gates_of(shape: Shape, view: View, steps: Sequence[Position]) -> list[Gate]:
    """Return all checks at gates up to the view's step."""
    results = read_leniently(list[VerificationResult], view.memory.get(shape.field(PANEL, 'verdicts')))
    places = pad_positions(steps, len(results))
    return [Gate(result=result, seq=at.seq) for result, at in zip(results, places, strict=True)]


def interventions_of(shape: Shape, view: View, steps: Sequence[Position]) -> list[Intervention]:
    """Return all interventions up to the view's step."""
    sent = read_leniently(list[Escalation], view.memory.get(shape.field(PANEL, 'interventions')))
    return [
        Intervention(escalation=escalation, seq=at.seq)
        for escalation, at in zip(sent, pad_positions(steps, len(sent)), strict=True)
    ]


def current_level(shape: Shape, view: View) -> str:
    """Return the escalation level at this step; `NONE` if memory has no valid one."""
    level = str(view.memory.get(shape.field(PANEL, 'level'), ''))
    return level if level in list(Level) else Level.NONE.value
