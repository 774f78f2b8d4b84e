"""The transcripts of both runs up to a row, side by side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from engine import Transition
from engine.history import Piece, Row, diff_words_async
from engine.records import parent_of
from ui.formatting.steps import path_text, role_title
from ui.web.components.elements import DiffText
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, Text
from ui.web.pages.compare.side import Side
from ui.web.pages.compare.step import agent_text, call_lines, draw_calls

PAGE_SIZE = 12
"""Number of rows shown initially and added by each “Show earlier”."""


class ComparedTranscript:
    """The replies of both runs up to the row that is shown; earlier ones on demand."""

    def __init__(self, sides: Sequence[Side], on_pick: Callable[[int], Awaitable[None]]) -> None:
        """`on_pick` gets the row whose steps to show."""
        self._sides, self._on_pick = sides, on_pick
        self._rows: Sequence[Row] = ()
        self._at, self._max_shown, self._load_number = -1, PAGE_SIZE, 0
        with Box('compare-transcript'):
            self._more = button('Show earlier', icon='expand_less', kind='quiet')
            self._more.on('click', self._earlier)
            self._root = Box('compare-pairs')

    async def show(self, rows: Sequence[Row], at: int) -> None:
        """Show the transcripts up to row `at`."""
        if at != self._at or rows is not self._rows:
            self._max_shown = PAGE_SIZE
        self._rows, self._at = rows, at
        self._load_number += 1
        turn = self._load_number
        places = [n for n in range(at + 1) if rows[n].said]
        drawn = []
        for n in places[-self._max_shown :]:
            steps = [
                await side.step(seq) for side, seq in zip(self._sides, (rows[n].a, rows[n].b), strict=True)
            ]
            texts = [agent_text(step) if step else '' for step in steps]
            drawn.append((n, steps, texts, await diff_words_async(*texts) if all(texts) else None))
        if turn != self._load_number or self._root.is_deleted:
            return
        self._more.set_visibility(len(places) > self._max_shown)
        self._root.clear()
        with self._root:
            if not drawn:
                empty_state('forum', 'No messages yet.')
            for n, steps, texts, differing in drawn:
                self._draw(n, steps, differing or [[(True, text)] for text in texts])
        last = f'getHtmlElement({self._root.id})?.lastElementChild'
        ui.run_javascript(f'{last}?.scrollIntoView({{ block: "nearest" }})')

    def _draw(self, n: int, steps: Sequence[Transition | None], pieces: Sequence[Sequence[Piece]]) -> None:
        with Box(f'compare-pair {self._rows[n].kind}'):
            for side, step, side_pieces in zip(self._sides, steps, pieces, strict=True):
                with Box('compare-pair-side'):
                    if step is None:
                        Text('p', f'{side.name}: no reply', 'muted small')
                        continue
                    with Box('compare-side-head'):
                        Text('span', side.name, f'side-mark side-{side.name.lower()}')
                        Text('b', self._speaker(side, step))
                        opener = button(f'Step {step.seq}', kind='quiet small')
                        opener.on('click', lambda n=n: self._on_pick(n))
                    if any(text for _, text in side_pieces):
                        DiffText(side_pieces, side.name)
                    else:
                        draw_calls(call_lines(step))

    def _speaker(self, side: Side, step: Transition) -> str:
        home = parent_of(step.event.at)
        state = side.stats.shape.state(home)
        role = step.event.data.get('role') or (state.role if state else '')
        return role_title(str(role)) if role else path_text(home)

    async def _earlier(self) -> None:
        self._max_shown += PAGE_SIZE
        await self.show(self._rows, self._at)
