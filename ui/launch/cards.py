"""The patterns as cards: a sketch of its way, what the pattern is for, and the two ways to start it."""

from __future__ import annotations

from itertools import groupby

from nicegui import ui

from engine import EngineError, Pattern, Shape
from ui.door import Door
from ui.drawing.sketch import draw_sketch
from ui.launch.samples import Starter, samples
from ui.parts import Text, attach, link
from ui.presenters.words import first_sentence
from ui.runs.filters import traffic_path
from ui.theme import button

FAMILIES = ('In turn', 'Side by side', 'One agent and its tools')
"""The order of what patterns say of themselves; what is in none of them comes after."""
OTHERS = 'More'


def pattern_cards(door: Door) -> None:
    """A card for each pattern: by family, the simple ones first."""
    drawn = [(made, door().draw(made.name)) for made in door().catalog.patterns.values()]
    drawn.sort(key=lambda item: (_rank(item[0]), item[0].family, len(item[1].states), item[0].title))
    starter, kind = Starter(door), 'primary'  # one of them is what to begin with
    for family, patterns in groupby(drawn, key=lambda item: item[0].family or OTHERS):
        Text('h3', family, 'family')
        with ui.element('ul').classes('cards'):
            for made, shape in patterns:
                _card(made, shape, starter, kind)
                kind = ''


def _rank(made: type[Pattern]) -> int:
    return FAMILIES.index(made.family) if made.family in FAMILIES else len(FAMILIES)


def _card(made: type[Pattern], shape: Shape, starter: Starter, kind: str) -> None:
    ready = samples(made)
    with ui.element('li').classes('card pattern') as card:
        draw_sketch(made, shape)
        with ui.element('div').classes('pattern-words'):
            Text('h4', made.title)
            Text('p', first_sentence(made.summary), 'muted')
        with ui.element('div').classes('pattern-actions'):
            run = button('Run a sample', icon='play_arrow', kind=kind)
            attach(run, aria_label=f'Run a sample of {made.title}')
            if ready:
                run.tooltip(ready[0].title)
            else:
                run.props('disabled').tooltip('It has no sample: launch it with your own input')
            with link(
                f'/launch/{made.name}', 'btn quiet', aria_label=f'Launch {made.title} with your own input'
            ):
                Text('span', 'Launch …')
            with link(
                traffic_path(made.name),
                'btn quiet icon',
                aria_label=f'What the runs of {made.title} did, on one diagram',
                title='What its runs did, on one diagram',
            ):
                ui.icon('insights')

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
