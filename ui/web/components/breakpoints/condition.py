"""The condition field of a breakpoint: checked while typing, with names and examples to insert."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from nicegui import ui

from engine.runtime import CONDITION_NAMES
from ui.formatting.values import as_sentence
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, set_class, text_input

EXAMPLES = (
    ('cost > 0.5', 'the run has cost more than $0.50'),
    ('tokens > 20000', 'the run has used more than 20,000 tokens'),
    ('score < 60', 'a reviewer gave a lower score'),
    ('loops >= 3', 'from the third visit on'),
    ('"TODO" in text', 'a reply or tool result contains this'),
    ('"run_command" in tools', 'this tool is about to run'),
    ('disagree', 'positions in a debate differ'),
    ('error != null', 'an error occurred'),
)
COLUMN = re.compile(r'column (\d+)')
INSERT = """() => {
    const line = document.getElementById("ID"), end = line.value.length;
    const from = line.selectionStart ?? end, to = line.selectionEnd ?? end;
    line.focus();
    line.setRangeText(TEXT, from, to, "end");
    line.dispatchEvent(new Event("input", { bubbles: true }));
}"""
DEBOUNCE_MS = '250'
"""Milliseconds without a keystroke before a condition is checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionFeedback:
    """What is shown below a condition while it is typed."""

    problem: str = ''
    """Why it is invalid; names the column."""
    evaluation: str = ''
    """Its value at the current step, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Evaluates conditions for a form."""

    evaluate: Callable[[str], Awaitable[ConditionFeedback]]
    fields: Mapping[str, str] = field(default_factory=dict)
    """The memory fields that can be used, with their current values."""


class ConditionField:
    """A one-line field for a condition; nothing typed is ever lost."""

    def __init__(self, text: str, probe: Probe, on_change: Callable[[], None]) -> None:
        """Draw it with `text`; `on_change` is called after every change."""
        self._probe, self._checked_text, self._optional = probe, '', True
        with Box('field text condition') as self._box:
            with Box('field-head'):
                head = Text('label', 'Condition', 'label')
                self._requirement = Text('span', '', 'muted small')
            self._line = text_input(text, maxlength='500', spellcheck='false', autocomplete='off')
            self._line.props(f'debounce={DEBOUNCE_MS}').classes('mono')
            base = self._line.html_id
            set_attributes(head, for_=base)
            self._error_marker = Text('pre', '', 'condition-caret mono', aria_hidden='true')
            self._problem = Text('p', '', 'problem', id=f'{base}-problem', aria_live='polite')
            self._evaluation = Text('p', '', 'help condition-now', id=f'{base}-now', aria_live='polite')
            set_attributes(self._line, aria_describedby=f'{base}-problem {base}-now')
            self._draw_names()
        self._line.on_value_change(self.check)
        self._line.on_value_change(on_change)
        self.set_optional(True)
        self._show(text, ConditionFeedback())
        if text:
            ui.timer(0.01, self.check, once=True)

    @property
    def text(self) -> str:
        """The condition as typed, without surrounding spaces."""
        return str(self._line.value or '').strip()

    async def check(self) -> bool:
        """Check it, show the feedback, and return whether it is valid."""
        text = self.text
        self._checked_text = text
        feedback = await self._probe.evaluate(text) if text else ConditionFeedback()
        if text == self._checked_text:  # nobody has typed meanwhile
            self._show(text, feedback)
        return not feedback.problem

    def set_optional(self, optional: bool) -> None:
        """Set whether a place is given: only then may the condition be empty."""
        self._optional = optional
        self._requirement.show('optional' if optional else 'required without a state or transition')
        if not self.text:
            self._show('', ConditionFeedback())

    def focus(self) -> None:
        """Put the cursor into the field."""
        self._line.run_method('focus')

    def _show(self, text: str, feedback: ConditionFeedback) -> None:
        wrong = bool(feedback.problem)
        set_class(self._box, 'bad', on=wrong)
        set_attributes(self._line, aria_invalid=str(wrong).lower())
        at = COLUMN.search(feedback.problem)
        self._error_marker.show(f'{text}\n{" " * (int(at[1]) - 1)}^' if at else '')
        self._error_marker.set_visibility(bool(at))
        self._problem.show(as_sentence(feedback.problem))
        always = 'Empty: always pauses.' if self._optional and not text else ''
        self._evaluation.show(feedback.evaluation or always)

    def _draw_names(self) -> None:
        with Box('fold condition-help', 'details'):
            Text('summary', 'Names and examples')
            with Box('condition-lists'):
                Text('b', 'Examples', 'small')
                with Box('condition-list', 'dl'):
                    for example, note in EXAMPLES:
                        self._draw_entry(example, note)
                Text('b', 'Names', 'small')
                with Box('condition-list', 'dl'):
                    for name, note in CONDITION_NAMES.items():
                        self._draw_entry(name, note)
                if self._probe.fields:
                    Text('b', 'Memory fields', 'small')
                    with Box('condition-list', 'dl'):
                        for name, note in self._probe.fields.items():
                            self._draw_entry(f'memory.{name}', note)

    def _draw_entry(self, text: str, note: str) -> None:
        with Box(tag='dt'):
            offer = button(text, kind='small mono')
        quoted = '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'
        offer.on('click', js_handler=INSERT.replace('ID', self._line.html_id).replace('TEXT', quoted))
        Text('dd', note, 'muted small')
