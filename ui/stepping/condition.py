"""The field of a breakpoint's condition: checked while one types, with names and examples to put in."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from nicegui import ui

from engine import CONDITION_NAMES
from ui.parts import Text, attach, line_input
from ui.theme import button

EXAMPLES = (
    ('cost > 0.5', 'it has used more than half a dollar'),
    ('tokens > 20000', 'it has used many tokens'),
    ('score < 60', 'a reviewer gave less'),
    ('loops >= 3', 'the third time that it gets there'),
    ('"TODO" in text', 'a reply, or the result of a tool, has this in it'),
    ('"run_command" in tools', 'this tool is about to run'),
    ('disagree', 'positions in a debate differ'),
    ('error != null', 'something went wrong'),
)
COLUMN = re.compile(r'column (\d+)')
INSERT = """() => {
    const line = document.getElementById("ID"), end = line.value.length;
    const from = line.selectionStart ?? end, to = line.selectionEnd ?? end;
    line.focus();
    line.setRangeText(TEXT, from, to, "end");
    line.dispatchEvent(new Event("input", { bubbles: true }));
}"""
SETTLE = '250'
"""Milliseconds without a key after which a condition is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is to be said of a condition."""

    problem: str = ''
    """Why it cannot be taken; it names the column."""
    now: str = ''
    """What it is at the present step, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Reads conditions for a form."""

    read: Callable[[str], Awaitable[Reading]]
    fields: Mapping[str, str] = field(default_factory=dict)
    """What of memory can be named, and what it is now."""


class ConditionField:
    """A line for a condition; nothing that is typed is lost."""

    def __init__(self, text: str, probe: Probe, on_change: Callable[[], None]) -> None:
        """Draw it with `text`; `on_change` is told when another one is typed."""
        self._probe, self._read, self._placed = probe, '', True
        with ui.element('div').classes('field text condition') as self._box:
            with ui.element('div').classes('field-head'):
                head = Text('label', 'Condition', 'label')
                self._needed = Text('span', '', 'muted small')
            self._line = line_input(text, maxlength='500', spellcheck='false', autocomplete='off')
            self._line.props(f'debounce={SETTLE}').classes('mono')
            base = self._line.html_id
            attach(head, for_=base)
            self._caret = Text('pre', '', 'condition-caret mono', aria_hidden='true')
            self._problem = Text('p', '', 'problem', id=f'{base}-problem', aria_live='polite')
            self._now = Text('p', '', 'help condition-now', id=f'{base}-now', aria_live='polite')
            attach(self._line, aria_describedby=f'{base}-problem {base}-now')
            self._draw_names()
        self._line.on_value_change(self.check)
        self._line.on_value_change(on_change)
        self.placed(True)
        self._show(text, Reading())
        if text:
            ui.timer(0.01, self.check, once=True)

    @property
    def text(self) -> str:
        """What is typed."""
        return str(self._line.value or '').strip()

    async def check(self) -> bool:
        """Read it, and show what is to be said of it; gives whether it can be taken."""
        text = self.text
        self._read = text
        found = await self._probe.read(text) if text else Reading()
        if text == self._read:  # nobody typed on meanwhile
            self._show(text, found)
        return not found.problem

    def placed(self, placed: bool) -> None:
        """Say whether it can be left empty: only where a place is named."""
        self._placed = placed
        self._needed.show('optional' if placed else 'needed, since no place is named')
        if not self.text:
            self._show('', Reading())

    def focus(self) -> None:
        """Move to it."""
        self._line.run_method('focus')

    def _show(self, text: str, found: Reading) -> None:
        wrong = bool(found.problem)
        self._box.classes(add='bad' if wrong else '', remove='' if wrong else 'bad')
        attach(self._line, aria_invalid=str(wrong).lower())
        at = COLUMN.search(found.problem)
        self._caret.show(f'{text}\n{" " * (int(at[1]) - 1)}^' if at else '')
        self._caret.set_visibility(bool(at))
        self._problem.show(sentence(found.problem))
        always = 'Nothing is typed: it stops whenever it gets there.' if self._placed and not text else ''
        self._now.show(found.now or always)

    def _draw_names(self) -> None:
        with ui.element('details').classes('fold condition-help'):
            Text('summary', 'Names and examples')
            with ui.element('div').classes('condition-lists'):
                Text('b', 'Examples', 'small')
                with ui.element('dl').classes('condition-list'):
                    for example, note in EXAMPLES:
                        self._entry(example, note)
                Text('b', 'Names', 'small')
                with ui.element('dl').classes('condition-list'):
                    for name, note in CONDITION_NAMES.items():
                        self._entry(name, note)
                if self._probe.fields:
                    Text('b', 'In memory', 'small')
                    with ui.element('dl').classes('condition-list'):
                        for name, note in self._probe.fields.items():
                            self._entry(f'memory.{name}', note)

    def _entry(self, text: str, note: str) -> None:
        with ui.element('dt'):
            offer = button(text, kind='small mono')
        quoted = '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'
        offer.on('click', js_handler=INSERT.replace('ID', self._line.html_id).replace('TEXT', quoted))
        Text('dd', note, 'muted small')


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f'{text[:1].upper()}{text[1:].rstrip(".")}.' if text else ''
