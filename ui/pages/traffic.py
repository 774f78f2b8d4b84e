"""Traffic: what many runs of a pattern did, on one diagram, with the runs behind each state and edge."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request
from nicegui import ui

from engine import RunQuery
from ui.door import Door
from ui.pages import missing
from ui.parts import Text, link
from ui.runs.filters import Filters
from ui.served import served
from ui.theme import empty, frame
from ui.traffic.view import TrafficView


def register(door: Door) -> None:
    """Serve the page."""

    @served('/patterns/{pattern}/traffic')
    async def traffic(request: Request, pattern: str) -> None:
        made = door().catalog.patterns.get(pattern)
        runs = await door().runs(RunQuery(pattern=pattern, limit=1))
        if made is None and not runs.runs:
            missing.unknown_pattern(door, pattern)
            return
        title = made.title if made else (await door().shape(runs.runs[0].id)).title
        with frame(f'Traffic of {title}', here='/runs'):
            with ui.element('div').classes('hero'):
                with link(f'/launch/{pattern}' if made else '/', 'small back'):
                    Text('span', f'← Launch {title}' if made else '← All patterns')
                Text('h1', f'{title}: many runs on one diagram')
                Text(
                    'p',
                    'How often, how long and where it fails. Pick a state or an edge to see its runs.',
                    'muted',
                )
            if runs.runs:
                filters = replace(Filters.read(request.query_params), pattern=pattern)
                await TrafficView(door, filters).load()
            else:
                _no_run(pattern)


def _no_run(pattern: str) -> None:
    with ui.element('div').classes('card'):
        empty('insights', 'No run of it yet, so there is nothing to count.')
        with ui.element('div').classes('empty-action'):
            with link('/', 'btn primary'):
                Text('span', 'Run a sample')
            with link(f'/launch/{pattern}', 'btn'):
                Text('span', 'Launch it')
