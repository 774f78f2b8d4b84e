"""The patterns as cards: a small diagram, what the pattern is for, and the two ways to start it."""

from __future__ import annotations

import asyncio
import html
import re

from nicegui import ui

from engine import EngineError, Pattern
from ui.diagram import INSTALL, available, svg
from ui.door import Door
from ui.parts import Text, attach, link
from ui.samples import Starter, samples
from ui.theme import button, notice
from ui.words import first_sentence

PATIENCE = 1.5
"""Seconds that the page waits for its diagrams."""


async def pattern_cards(door: Door) -> None:
    """A card for each pattern."""
    patterns = list(door().catalog.patterns.values())
    if not available():
        with notice('info', 'info'):
            Text('p', INSTALL)
    starter = Starter(door)
    with ui.element('ul').classes('cards'):
        places = [_card(made, starter) for made in patterns]
    await asyncio.gather(*(_draw(door, made, place) for made, place in zip(patterns, places, strict=True)))


def _card(made: type[Pattern], starter: Starter) -> ui.element:
    """Draw the card, and return the place of its diagram."""
    ready = samples(made)
    with ui.element('li').classes('card pattern') as card:
        place = ui.element('div').classes('thumb diagram')
        with ui.element('div').classes('pattern-words'):
            Text('h3', made.title)
            Text('p', first_sentence(made.summary), 'muted')
        with ui.element('div').classes('pattern-actions'):
            run = button('Run a sample', icon='play_arrow', kind='primary')
            attach(run, aria_label=f'Run a sample of {made.title}')
            if ready:
                run.tooltip(ready[0].title)
            else:
                run.props('disabled').tooltip('It has no sample: launch it with your own input')
            with link(f'/launch/{made.name}', 'btn', aria_label=f'Launch {made.title} with your own input'):
                Text('span', 'Launch …')

    async def run_sample() -> None:
        if starter.busy or not ready:
            return
        run.classes('busy')
        try:
            await starter.start(made.name, ready[0].parameters, title=ready[0].title, tags=('sample',))
        except EngineError as error:
            run.classes(remove='busy')
            with card:
                ui.notify(f'The sample did not start: {error}', type='negative', close_button='Close')

    run.on('click', run_sample)
    return place


async def _draw(door: Door, made: type[Pattern], place: ui.element) -> None:
    try:
        drawn = await asyncio.wait_for(svg(door().draw(made.name), folded=True), PATIENCE)
    except (EngineError, TimeoutError):
        drawn = ''
    with place:
        if drawn:
            ui.html(_thumbnail(drawn, f'{made.title}: its states'), sanitize=False)
        else:
            ui.icon('account_tree').props('size="40px"').classes('muted')


def _thumbnail(drawn: str, name: str) -> str:
    """The drawing without ids and tooltips: there are many of it on one page."""
    bare = re.sub(r' id="[^"]*"|<title>.*?</title>', '', drawn, flags=re.DOTALL)
    return bare.replace('<svg ', f'<svg role="img" aria-label="{html.escape(name)}" ', 1)
