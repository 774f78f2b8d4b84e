"""What to do if somebody else has saved a chart meanwhile."""

from __future__ import annotations

import asyncio
from enum import Enum

from nicegui import ui

from engine.charts.library import ChartText
from ui.web.components.dialogs import await_answer, dialog_frame
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text
from ui.web.pages.charts.checking import check_chart
from ui.web.pages.charts.difference.side import side_of
from ui.web.pages.charts.difference.view import DifferenceView, compare_sides


class Choice(Enum):
    """What a person decides."""

    OVERWRITE = 'overwrite'
    TAKE = 'take'


async def ask_conflict(theirs: ChartText, mine: str) -> Choice | None:
    """Show what differs from theirs to mine, and return what to do; None to go on editing."""
    who = theirs.saved.author if theirs.saved and theirs.saved.author else 'Somebody'
    what = f'version {theirs.saved.number}' if theirs.saved else 'the file'
    checked = [await asyncio.to_thread(check_chart, text, theirs.name) for text in (theirs.text, mine)]
    first, second = side_of(what.capitalize(), checked[0]), side_of('Yours', checked[1])
    compared = await asyncio.to_thread(compare_sides, first, second) if first and second else None
    with dialog_frame(f'{who} saved {what} meanwhile', 'rehearsal') as dialog:
        Text('p', 'Nothing is lost: whatever you choose, both stay among the versions or in the editor.')
        if compared:
            view = DifferenceView(compared)
            ui.timer(0, view.draw, once=True)
        with Box('dialog-actions'):
            button('Go on editing', autofocus='').on('click', lambda: dialog.submit(None))
            button('Take theirs').on('click', lambda: dialog.submit(Choice.TAKE))
            button('Overwrite', kind='primary').on('click', lambda: dialog.submit(Choice.OVERWRITE))
    answer = await await_answer(dialog)
    return answer if isinstance(answer, Choice) else None
