"""The fork tree of a run: its ancestors, and everything forked from them."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from engine.history import LineageNode
from engine.records import RunId
from ui.app.backend import Backend
from ui.formatting.steps import origin_text
from ui.formatting.usage import usage_headline
from ui.formatting.values import ago, count
from ui.web.components.theme import frame, page_head, pill
from ui.web.components.widgets import Box, Text, link, set_attributes, text_link
from ui.web.pages.shared import errors
from ui.web.routing import serve_page

ICONS = {'root': 'flag', 'fork': 'call_split', 'rerun': 'restart_alt', 'retry': 'healing'}


def register(backend: Backend) -> None:
    """Serve `/runs/{run}/family`."""

    @serve_page('/runs/{run}/family')
    async def page(run: str) -> None:
        try:
            info = await backend().info(RunId(run))
            family = await backend().lineage(info.id)
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(f'Fork tree · {info.title}', of_runs=True):
            number = len(list(family.members()))
            summary = f'{count(number, "run")}, each with the step it was forked at.'
            summary = summary if number > 1 else 'This run has no forks yet.'
            page_head('Fork tree', summary, back=(f'/runs/{info.id}', info.title))
            with Box('fork-tree card', 'ul'):
                _draw(family, info.id, backend().clock.now())


def _draw(kin: LineageNode, here: RunId, now: float) -> None:
    """Draw a run and all its descendants, without recursion because chains of forks can be long."""
    todo: list[tuple[LineageNode, ui.element | None]] = [(kin, None)]
    while todo:
        node, within = todo.pop()
        if within is None:
            place = _member(node, here, now)
        else:
            with within:
                place = _member(node, here, now)
        todo.extend((child, place) for child in reversed(node.children))


def _member(node: LineageNode, here: RunId, now: float) -> ui.element:
    with Box('here' if node.run == here else '', 'li'):
        with Box('fork-tree-row'):
            ui.icon(ICONS[node.kind], size='17px')
            with Box('fork-tree-run'):
                with link(f'/runs/{node.run}', 'fork-tree-title') as title:
                    Text('span', node.info.title or node.run, dir='auto')
                    if node.run == here:
                        set_attributes(title, aria_current='true')
                Text('span', origin_text(node.info) or 'original', 'muted small')
                pill(node.status, node.info.error)
                if node.winner:
                    Text('span', 'Winner', 'chip strong')
                if node.group:
                    text_link(f'/variants/{node.group}', 'variants', 'small')
            with Box('fork-tree-usage'):
                Text('span', usage_headline(node.info.usage), 'muted small num')
                Text('span', ago(node.info.created, now), 'muted small')
        return Box(tag='ul')
