"""The slider of a run, with marks over it: it moves in the browser, and asks for a step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nicegui.element import Element

from ui.presenters.reading import short
from ui.replay.marks import KINDS, Mark
from ui.web import ASSETS


class Track(Element, component=ASSETS / 'track.js'):
    """One thumb over all steps. Marks that stand too close are drawn as one, with their number."""

    def __init__(self, *, on_slide: Callable[[int], Any], on_pick: Callable[[int], Any]) -> None:
        """Stand at the beginning; `on_slide` gets where the thumb is drawn to, `on_pick` a mark's step."""
        super().__init__()
        kinds = [[kind, sort.glyph, sort.title] for kind, sort in KINDS.items()]
        self._marks: dict[str, list[dict[str, Any]]] = {'run': [], 'notes': []}
        self._props |= {'kinds': kinds, 'at': 0, 'head': 1, 'said': '', 'link': '', 'marks': self._marks}
        self.on('slide', lambda event: on_slide(int(event.args)))
        self.on('pick', lambda event: on_pick(int(event.args)))

    def stand(self, at: int, head: int, said: str, link: str) -> None:
        """Put the thumb at a step of `head`; `said` is how long that was after the first, `link` its address.

        It is the answer to a wish, too: the browser asks for the next position only then.
        """
        with self._props.suspend_updates():  # for a page that connects again
            self._props |= {'at': at, 'head': head, 'said': said, 'link': link}
        self.run_method('stand', at, head, said, link)

    def add(self, marks: Iterable[Mark]) -> None:
        """Put more marks over it, which are later than all that are there."""
        fresh = _listed(marks)
        if fresh:
            known = len(self._marks['run'])
            self._marks['run'] += fresh
            self.run_method('add', known, fresh)

    def note(self, marks: Iterable[Mark]) -> None:
        """Put notes over it, in place of those that are there."""
        fresh = _listed(marks)
        if fresh != self._marks['notes']:
            self._marks['notes'] = fresh
            self.run_method('note', fresh)


def _listed(marks: Iterable[Mark]) -> list[dict[str, Any]]:
    return [{'seq': mark.seq, 'kind': mark.kind, 'text': short(mark.text)} for mark in marks]
