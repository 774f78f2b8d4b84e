"""Jump targets: marks by kind, and changes of a value in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from engine.records import View, escape_token
from ui.formatting.steps import pointer_text
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes
from ui.web.replay.index import Index, next_step, previous_step
from ui.web.replay.marks import JUMPS, KINDS

Go = Callable[[int], Awaitable[None]]


def title_of(key: str) -> str:
    """Return what a key of `JUMPS` jumps to."""
    return KINDS[JUMPS[key][-1]].title


class JumpMenu:
    """The legend of the marks, with buttons to jump between them.

    Args:
        index: the index of the run's steps.
        here: returns the step that is shown.
        go: goes to another one.
        announce: announces a sentence to screen readers.
    """

    def __init__(
        self, index: Index, here: Callable[[], int], go: Go, announce: Callable[[str], None]
    ) -> None:
        self._index, self._here, self._go, self._announce = index, here, go, announce
        self._notes: list[int] = []
        self._counts: dict[str, Text] = {}
        self.pointer = ''
        """The pointer of the value whose changes to jump between, or ''."""
        with Box('jumps'):
            for key, kinds in JUMPS.items():
                with Box('jump'):
                    with Box('jump-glyph', 'span', aria_hidden='true'):
                        for kind in kinds:
                            Text('span', KINDS[kind].glyph, f'mark-{kind}')
                    Text('span', title_of(key).capitalize(), 'grow')
                    self._counts[key] = Text('span', '', 'muted num')
                    Text('kbd', key)
                    self._draw_arrows(title_of(key), lambda on, key=key: self.jump_to_mark(key, forward=on))  # type: ignore[misc]
            with Box('jump'):
                Text('span', '≔', 'jump-glyph', aria_hidden='true')
                self._field_select = NativeSelect({'': 'Memory field…'}, value='', on_change=self._on_pick)
                set_attributes(self._field_select, aria_label='Memory field to follow')
                Text('kbd', 'm')
                self._draw_arrows('memory change', lambda on: self.jump_to_change(forward=on))

    def set_notes(self, steps: list[int]) -> None:
        """Set which steps have notes, to jump between them."""
        self._notes = sorted(steps)

    def update(self, view: View) -> None:
        """Show the number of marks by kind, and offer the memory fields of this step."""
        for key, text in self._counts.items():
            many = len(self._list_steps(key))
            text.show(f'{many:,}' if many else 'none')
        names = {f'/memory/{escape_token(key)}': key.replace('_', ' ') for key in view.memory}
        self._field_select.set_options({'': 'Memory field…', **names, **self._followed_field(names)})

    async def jump_to_mark(self, key: str, *, forward: bool) -> None:
        """Go to the next or previous mark of the kinds of a key of `JUMPS`, wrapping around."""
        await self._jump(self._list_steps(key), forward=forward, what=title_of(key))

    async def jump_to_change(self, pointer: str = '', *, forward: bool = True) -> None:
        """Go to the next change of a value in the run's data, by default the chosen one."""
        if pointer:
            self.pointer = pointer
            self._field_select.set_options(
                {**self._field_select.options, **self._followed_field(self._field_select.options)}
            )
            self._field_select.set_value(pointer)
        if not self.pointer:
            self._announce('Choose a memory field to follow first, here or in the memory tree.')
            return
        await self._jump(
            self._index.changes_of(self.pointer),
            forward=forward,
            what=f'change of {pointer_text(self.pointer)}',
        )

    async def _jump(self, steps: list[int], *, forward: bool, what: str) -> None:
        here = self._here()
        step = next_step(steps, here) if forward else previous_step(steps, here)
        if step is None:
            self._announce(f'No {what} in the run so far.')
            return
        if (step <= here) if forward else (step >= here):
            many = len(steps)
            there = f'Wrapped around: {what} at step {step}, one of {many:,}.'
            self._announce(there if many > 1 else f'The only {what} is at step {step}.')
        await self._go(step)

    def _list_steps(self, key: str) -> list[int]:
        steps = {step for kind in JUMPS[key] for step in self._index.mark_steps[kind]}
        return self._notes if 'note' in JUMPS[key] else sorted(steps)

    def _followed_field(self, options: Mapping[str, Any]) -> dict[str, str]:
        return (
            {self.pointer: pointer_text(self.pointer)} if self.pointer and self.pointer not in options else {}
        )

    def _on_pick(self) -> None:
        self.pointer = self._field_select.value

    def _draw_arrows(self, title: str, jump: Callable[[bool], Awaitable[None]]) -> None:
        for icon, label, on in (
            ('chevron_left', f'{title.capitalize()}: previous', False),
            ('chevron_right', f'Next {title}', True),
        ):
            arrow = button('', icon=icon, kind='quiet small', label=label)
            arrow.on('click', lambda on=on: jump(on))
