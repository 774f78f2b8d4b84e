"""A draft as a diagram and a text; beside what it was made from, as the difference of both."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nicegui import ui

from engine.patterns import ChartDraft
from ui.formatting.diagram.folding import default_folds
from ui.formatting.diagram.rendering import svg
from ui.web.components.elements import Code, Diagram
from ui.web.components.widgets import Box, disclosure
from ui.web.pages.charts.checking import Checked, check_chart
from ui.web.pages.charts.difference.side import side_of
from ui.web.pages.charts.difference.view import DifferenceView, compare_sides


class Picture:
    """The newest of some drafts, compared with the chart that it changes, or with the last that passed."""

    def __init__(self, drafts: Sequence[ChartDraft], base: str, *, with_text: bool) -> None:
        self._draft, self._with_text = drafts[-1], with_text
        earlier = next((draft for draft in reversed(drafts[:-1]) if draft.sound), None)
        self._before = base or (earlier.text if earlier else '')
        self._title = 'Before' if base else f'Draft {earlier.number}' if earlier else ''

    def draw(self, unfolded: set[str]) -> None:
        """Draw a place for the diagram, which is laid out in a moment, and the text if it is asked for."""
        place = Box('draft-picture')
        if self._with_text and not (self._before and self._draft.chart):
            with disclosure(unfolded, 'text', 'Text', 'panel-fold'):
                lines = self._draft.text.splitlines()
                Code().show(
                    [['', 0, number, line] for number, line in enumerate(lines, 1)], 'Text of the draft'
                )

        async def lay_out() -> None:
            new = await asyncio.to_thread(check_chart, self._draft.text, self._draft.chart)
            old = await asyncio.to_thread(_checked, self._before) if self._before else None
            before = side_of(self._title, old) if old else None
            after = side_of(f'Draft {self._draft.number}', new)
            compared = await asyncio.to_thread(compare_sides, before, after) if before and after else None
            if place.is_deleted or new.shape is None:
                return
            with place:
                if compared:
                    await DifferenceView(compared).draw()
                else:
                    await _draw_diagram(new)

        if self._draft.chart:
            ui.timer(0, lay_out, once=True)


def _checked(text: str) -> Checked:
    name = text.partition('chart:')[2].split(maxsplit=1)
    return check_chart(text, name[0] if name else '')


async def _draw_diagram(checked: Checked) -> None:
    shape = checked.shape
    assert shape
    drawn = await svg(shape, folded=default_folds(shape))
    with Box('draft-diagram'):
        Diagram(drawn, title=shape.title, states=[str(state.path) for state in shape.states])
