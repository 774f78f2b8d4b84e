"""Family: a run with those it came from and those that came from it, as a tree."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError, Kin, RunId
from ui.door import Door
from ui.pages import missing
from ui.parts import Text, attach, link
from ui.presenters.reading import came
from ui.presenters.spending import headline_of
from ui.presenters.words import ago, count
from ui.served import served
from ui.theme import frame, pill

ICONS = {'root': 'flag', 'fork': 'call_split', 'rerun': 'restart_alt', 'retry': 'healing'}


def register(door: Door) -> None:
    """Serve `/runs/{run}/family`."""

    @served('/runs/{run}/family')
    async def page(run: str) -> None:
        try:
            info = await door().info(RunId(run))
            family = await door().lineage(info.id)
        except EngineError as error:
            missing.unread(error)
            return
        with frame(f'Family · {info.title}'):
            with ui.element('div').classes('hero'):
                with link(f'/runs/{info.id}', 'small back'):
                    Text('span', f'← {info.title}')
                Text('h1', 'Family')
                number = len(list(family.members()))
                said = f'{count(number, "run")}, each with the step of its parent that it began from.'
                Text('p', said if number > 1 else 'Nothing was forked from this run yet.', 'muted')
            with ui.element('ul').classes('family-tree card'):
                _draw(family, info.id, door().clock.now())


def _draw(kin: Kin, here: RunId, now: float) -> None:
    """A run and all beneath it; a long row of forks of forks stays a row, and is no deep recursion."""
    todo: list[tuple[Kin, ui.element | None]] = [(kin, None)]
    while todo:
        one, within = todo.pop()
        if within is None:
            place = _member(one, here, now)
        else:
            with within:
                place = _member(one, here, now)
        todo.extend((child, place) for child in reversed(one.children))


def _member(one: Kin, here: RunId, now: float) -> ui.element:
    with ui.element('li').classes('here' if one.run == here else ''):
        with ui.element('div').classes('family-row'):
            ui.icon(ICONS[one.kind]).props('size="17px" aria-hidden="true"')
            with ui.element('div').classes('family-what'):
                with link(f'/runs/{one.run}', 'family-title') as title:
                    Text('span', one.info.title or one.run)
                    if one.run == here:
                        attach(title, aria_current='true')
                Text('span', came(one.info) or 'the original', 'muted small')
                pill(one.status)
                if one.winner:
                    Text('span', 'Winner', 'chip strong')
                if one.group:
                    with link(f'/variants/{one.group}', 'small'):
                        Text('span', 'its variants')
            with ui.element('div').classes('family-numbers'):
                Text('span', headline_of(one.info.usage), 'muted small num')
                Text('span', ago(one.info.created, now), 'muted small')
        return ui.element('ul')
