"""Jump targets: marks by kind, and changes of a value in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui

from engine.records import View, escape_token
from ui.components.theme import button
from ui.components.widgets import NativeSelect, Text, set_attributes
from ui.formatting.steps import pointer_text
from ui.replay.index import Index, next_step, previous_step
from ui.replay.marks import KINDS, Kind

Go = Callable[[int], Awaitable[None]]


class JumpMenu:
    """The legend of the marks, with buttons to jump between them.

    Args:
        index: the index of the run's steps.
        here: returns the step that is shown.
        go: goes to another one.
        say: announces a sentence to screen readers.
    """

    def __init__(self, index: Index, here: Callable[[], int], go: Go, say: Callable[[str], None]) -> None:
        self._index, self._here, self._go, self._say = index, here, go, say
        self._notes: list[int] = []
        self._counts: dict[Kind, Text] = {}
        self.place = ''
        """The pointer of the value whose changes to jump between, or ''."""
        with ui.element('div').classes('jumps'):
            for kind, sort in KINDS.items():
                with ui.element('div').classes('jump'):
                    Text('span', sort.glyph, f'jump-glyph mark-{kind}', aria_hidden='true')
                    Text('span', sort.title.capitalize(), 'grow')
                    self._counts[kind] = Text('span', '', 'muted num')
                    Text('kbd', sort.key)
                    self._arrows(sort.title, lambda on, kind=kind: self.jump(kind, on=on))  # type: ignore[misc]
            with ui.element('div').classes('jump'):
                Text('span', '≔', 'jump-glyph', aria_hidden='true')
                self._places = NativeSelect({'': 'Memory field…'}, value='', on_change=self._on_pick)
                set_attributes(self._places, aria_label='Memory field to follow')
                Text('kbd', 'm')
                self._arrows('memory change', lambda on: self.change(on=on))

    def note(self, steps: list[int]) -> None:
        """Set the steps that have notes."""
        self._notes = sorted(steps)

    def offer(self, view: View) -> None:
        """Show the number of marks by kind, and offer the memory fields of this step."""
        for kind, text in self._counts.items():
            many = len(self._steps(kind))
            text.show(f'{many:,}' if many else 'none')
        names = {f'/memory/{escape_token(key)}': key.replace('_', ' ') for key in view.memory}
        self._places.set_options({'': 'Memory field…', **names, **self._own(names)})

    async def jump(self, kind: Kind, *, on: bool) -> None:
        """Go to the next or previous mark of a kind, wrapping around."""
        await self._to(self._steps(kind), on=on, what=KINDS[kind].title)

    async def change(self, pointer: str = '', *, on: bool = True) -> None:
        """Go to the next change of a value in the run's data, by default the chosen one."""
        if pointer:
            self.place = pointer
            self._places.set_options({**self._places.options, **self._own(self._places.options)})
            self._places.set_value(pointer)
        if not self.place:
            self._say('Choose a memory field to follow first, here or in the memory tree.')
            return
        await self._to(
            self._index.changes_of(self.place), on=on, what=f'change of {pointer_text(self.place)}'
        )

    async def _to(self, steps: list[int], *, on: bool, what: str) -> None:
        here = self._here()
        step = next_step(steps, here) if on else previous_step(steps, here)
        if step is None:
            self._say(f'No {what} in the run so far.')
            return
        if (step <= here) if on else (step >= here):
            many = len(steps)
            there = f'Wrapped around: {what} at step {step}, one of {many:,}.'
            self._say(there if many > 1 else f'The only {what} is at step {step}.')
        await self._go(step)

    def _steps(self, kind: Kind) -> list[int]:
        return self._notes if kind == 'note' else self._index.mark_steps[kind]

    def _own(self, known: Mapping[str, Any]) -> dict[str, str]:
        return {self.place: pointer_text(self.place)} if self.place and self.place not in known else {}

    def _on_pick(self) -> None:
        self.place = self._places.value

    def _arrows(self, title: str, jump: Callable[[bool], Awaitable[None]]) -> None:
        for icon, label, on in (
            ('chevron_left', f'{title.capitalize()}: previous', False),
            ('chevron_right', f'Next {title}', True),
        ):
            made = button('', icon=icon, kind='quiet small', label=label)
            made.on('click', lambda on=on: jump(on))
