"""The patterns as cards: a thumbnail, a description, and two ways to start."""

from __future__ import annotations

from itertools import groupby

from nicegui import ui

from engine import Pattern
from engine.records import Shape
from ui.app.backend import Backend
from ui.formatting.values import first_sentence
from ui.web.components.diagram.thumbnail import draw_thumbnail
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, link, set_attributes, text_link
from ui.web.pages.shared.launching.samples import Starter, samples
from ui.web.routing import launch_path, traffic_path

FAMILIES = ('Sequential', 'Parallel', 'Single agent with tools')
"""The order of families; patterns of any other family come last."""
OTHERS = 'More'


def pattern_cards(backend: Backend) -> None:
    """Draw a card for each pattern, by family, simple ones first."""
    drawn = [
        (pattern, backend().catalog.draw(pattern.name)) for pattern in backend().catalog.patterns.values()
    ]
    drawn.sort(key=lambda item: (_rank(item[0]), item[0].family, len(item[1].states), item[0].title))
    starter, kind = Starter(backend), 'primary'  # only the first button is primary
    for family, patterns in groupby(drawn, key=lambda item: item[0].family or OTHERS):
        Text('h3', family, 'family')
        with Box('cards', 'ul'):
            for pattern, shape in patterns:
                _card(pattern, shape, starter, kind)
                kind = ''


def _rank(pattern: type[Pattern]) -> int:
    return FAMILIES.index(pattern.family) if pattern.family in FAMILIES else len(FAMILIES)


def _card(pattern: type[Pattern], shape: Shape, starter: Starter, kind: str) -> None:
    ready = samples(pattern)
    with Box('card pattern', 'li'):
        draw_thumbnail(pattern, shape)
        with Box('pattern-words'):
            Text('h4', pattern.title)
            Text('p', first_sentence(pattern.summary), 'muted')
        with Box('pattern-actions'):
            run = button('Run sample', icon='play_arrow', kind=kind, requires='start')
            set_attributes(run, aria_label=f'Run sample of {pattern.title}')
            if ready:
                run.tooltip(ready[0].title)
            else:
                run.props('disabled').tooltip('No sample available: configure it with your own input')
            text_link(
                launch_path(pattern.name), 'Configure…', 'btn quiet', aria_label=f'Configure {pattern.title}'
            )
            with link(
                traffic_path(pattern.name),
                'btn quiet icon',
                aria_label=f'Traffic of {pattern.title}: all runs on one diagram',
                title='Traffic: all runs on one diagram',
            ):
                ui.icon('insights')

    async def run_sample() -> None:
        if starter.busy or not ready:
            return
        run.classes('busy')
        if not await starter.start_sample(pattern.name, ready[0]):
            run.classes(remove='busy')

    run.on('click', run_sample)
