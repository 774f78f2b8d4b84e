"""Where a replay can jump to: marks by their kind and shape, and the changes of a place in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui

from engine import View, escape, parts_of
from ui.parts import Choice, Text, attach
from ui.replay.index import Index, following, preceding
from ui.replay.marks import KINDS, Kind
from ui.theme import button

Go = Callable[[int], Awaitable[None]]


class Jumps:
    """The legend of the marks, which is where one goes from mark to mark as well.

    Args:
        index: what the run's steps say.
        here: the step that is shown.
        go: goes to another one.
        say: tells screen readers a sentence.
    """

    def __init__(self, index: Index, here: Callable[[], int], go: Go, say: Callable[[str], None]) -> None:
        self._index, self._here, self._go, self._say = index, here, go, say
        self._notes: list[int] = []
        self._counts: dict[Kind, Text] = {}
        self.place = ''
        """The pointer of the place in the run's data whose changes are gone to; '' is none."""
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
                self._places = Choice({'': 'Change of memory …'}, value='', on_change=self._picked)
                attach(self._places, aria_label='Whose changes to go to')
                Text('kbd', 'm')
                self._arrows('change of memory', lambda on: self.change(on=on))

    def note(self, steps: list[int]) -> None:
        """These steps have notes."""
        self._notes = sorted(steps)

    def offer(self, view: View) -> None:
        """Say how many there are of each kind, and offer what memory holds at this step."""
        for kind, text in self._counts.items():
            many = len(self._steps(kind))
            text.show(f'{many:,}' if many else 'none')
        names = {f'/memory/{escape(key)}': key.replace('_', ' ') for key in view.memory}
        self._places.offer({'': 'Change of memory …', **names, **self._own(names)})

    async def jump(self, kind: Kind, *, on: bool) -> None:
        """Go to the next mark of a kind, or to the one before; past the end it begins anew."""
        await self._to(self._steps(kind), on=on, what=KINDS[kind].title)

    async def change(self, pointer: str = '', *, on: bool = True) -> None:
        """Go to the next change of a place in the run's data, by default of the one that was chosen."""
        if pointer:
            self.place = pointer
            self._places.offer({**self._places.offered, **self._own(self._places.offered)})
            self._places.set_value(pointer)
        if not self.place:
            self._say('Choose first what of memory to follow: in the list of jumps, or in the memory tree.')
            return
        await self._to(self._index.changed(self.place), on=on, what=f'change of {named(self.place)}')

    async def _to(self, steps: list[int], *, on: bool, what: str) -> None:
        here = self._here()
        step = following(steps, here) if on else preceding(steps, here)
        if step is None:
            self._say(f'There is no {what} in this run, as far as it has been read.')
            return
        if (step <= here) if on else (step >= here):
            many = len(steps)
            there = f'From the other end again: {what} at step {step}, one of {many:,}.'
            self._say(there if many > 1 else f'The only {what} is at step {step}.')
        await self._go(step)

    def _steps(self, kind: Kind) -> list[int]:
        return self._notes if kind == 'note' else self._index.moments[kind]

    def _own(self, known: Mapping[str, Any]) -> dict[str, str]:
        return {self.place: named(self.place)} if self.place and self.place not in known else {}

    def _picked(self) -> None:
        self.place = self._places.value

    def _arrows(self, title: str, jump: Callable[[bool], Awaitable[None]]) -> None:
        for icon, label, on in (
            ('chevron_left', f'{title.capitalize()} before this step', False),
            ('chevron_right', f'Next {title}', True),
        ):
            made = button('', icon=icon, kind='quiet small', label=label)
            made.on('click', lambda on=on: jump(on))


def named(pointer: str) -> str:
    """A place in a run's data, for people."""
    parts = parts_of(pointer.removeprefix('/memory'))
    return ' › '.join(part.replace('_', ' ') for part in parts)  # noqa: RUF001
