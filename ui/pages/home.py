"""Home: the patterns, what waits for a person, and the runs."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from engine import EngineError
from ui.door import Door
from ui.exports.importer import Importer
from ui.launch.cards import pattern_cards
from ui.parts import Text, link
from ui.runs.filters import Filters
from ui.runs.listing import RunList
from ui.runs.waiting import Waiting
from ui.served import served
from ui.serving.faults import draw_faults
from ui.theme import frame, notice

SIZE = 10
"""Runs on a page of the list."""


def register(door: Door) -> None:
    """Serve the page."""

    @served('/')
    async def home(request: Request) -> None:
        with frame('Home', here='/'):
            with ui.element('div').classes('hero'):
                Text('h1', 'Put a team of agents to work, and watch every step')
                Text('p', 'Pick a pattern, run a sample: no key, no set-up, nothing to pay.', 'muted')
            with ui.element('div').classes('notices'):
                draw_faults(door)
                await _stranded(door)
            waiting = Waiting(door)
            await waiting.load()
            with ui.element('section').classes('section').props('aria-labelledby="patterns"'):
                with ui.element('div').classes('section-head'):
                    Text('h2', 'Patterns', id='patterns')
                    ui.element('div').classes('grow')
                    with link('#runs', 'small'):
                        Text('span', 'Recent runs ↓')
                pattern_cards(door)
            with ui.element('section').classes('section').props('aria-labelledby="runs"'):
                with ui.element('div').classes('section-head'):
                    Text('h2', 'Recent runs', id='runs')
                    ui.element('div').classes('grow')
                    importer = Importer(door)
                    with link('/runs', 'small'):
                        Text('span', 'All runs')
                runs = RunList(door, Filters.read(request.query_params), path='/', size=SIZE)
                importer.on_done = runs.look
            await runs.load()


async def _stranded(door: Door) -> None:
    found = []
    for run, reason in door().stranded.items():
        try:
            info = await door().info(run)
        except EngineError:
            continue  # not readable just now: the list of runs says so
        if not info.deleted:
            found.append((info, reason))
    if not found:
        return
    with notice('fail', 'link_off'):
        runs = 'A run' if len(found) == 1 else f'{len(found)} runs'
        Text('p', f'{runs} could not go on after the restart; what was done is kept.')
        with ui.element('ul').classes('details-list'):
            for info, reason in found:
                with ui.element('li'):
                    with link(f'/runs/{info.id}'):
                        Text('span', info.title or info.id)
                    Text('span', reason)
