"""The home page: open requests, active and recent runs, starting a run, and the patterns."""

from __future__ import annotations

from fastapi import Request

from engine import EngineError
from engine.records import RunQuery
from ui.app.backend import Backend
from ui.web.components.theme import LIST_KEYS, frame, notice, page_head, section_head, skip_link
from ui.web.components.widgets import Box, Text, text_link
from ui.web.exports.importer import ImportDialog
from ui.web.pages.home.card import pattern_cards
from ui.web.pages.home.panels import (
    FirstRun,
    ModelsCard,
    NeedsYou,
    RunningNow,
    agents_card,
    new_run_card,
)
from ui.web.pages.shared.attention import AttentionFeed
from ui.web.pages.shared.errors import draw_load_errors
from ui.web.pages.shared.launching.samples import FIRST
from ui.web.pages.shared.run_list.filters import Filters
from ui.web.pages.shared.run_list.listing import RunList
from ui.web.routing import serve_page

SIZE = 8
"""Page size of the list."""


def register(backend: Backend) -> None:
    """Serve the page."""
    attentions = AttentionFeed(backend)

    @serve_page('/')
    async def home(request: Request) -> None:
        attention = attentions()
        with frame('Home', here='/', keys=LIST_KEYS):
            has_runs = await _has_any_runs(backend)
            invitation = 'Pick a pattern and run a sample. No key, no setup, no cost.'
            page_head('Put a team of agents to work and watch every step', '' if has_runs else invitation)
            with Box('notices'):
                draw_load_errors(backend)
                await _draw_stranded(backend)
            with Box('home'):
                with Box('home-main'):
                    needs, running = NeedsYou(attention), RunningNow(backend)
                    await needs.load()
                    await running.load()
                    if not has_runs and FIRST in backend().catalog.patterns:
                        await FirstRun(backend).load()
                    with Box('section', 'section', aria_labelledby='runs'):
                        with section_head('Recent runs', 'runs'):
                            importer = ImportDialog(backend)
                            text_link('/runs', 'All runs', 'small')
                        runs = RunList(backend, Filters.from_query(request.query_params), path='/', size=SIZE)
                        importer.on_done = runs.refresh
                with Box('home-side'):
                    new_run = new_run_card(backend)
                    await ModelsCard(backend).load()
                    agents_card(backend)
            with Box('section', 'section', aria_labelledby='patterns') as patterns:
                Text('h2', 'Patterns', id='patterns')
                pattern_cards(backend)
            for name, target in (('new run', new_run), ('runs', runs.rows), ('patterns', patterns)):
                skip_link(f'Skip to {name}', target)
            await runs.load()


async def _has_any_runs(backend: Backend) -> bool:
    try:
        return bool((await backend().runs(RunQuery(limit=1))).runs)
    except EngineError:
        return True  # the list of runs reports the error


async def _draw_stranded(backend: Backend) -> None:
    stranded = []
    for run, reason in backend().stranded.items():
        try:
            info = await backend().info(run)
        except EngineError:
            continue  # temporarily unreadable: the list of runs reports it
        if not info.deleted:
            stranded.append((info, reason))
    if not stranded:
        return
    with notice('fail', 'link_off'):
        runs = 'A run' if len(stranded) == 1 else f'{len(stranded)} runs'
        Text('p', f'{runs} could not continue after the restart; all recorded work is kept.')
        with Box('details-list', 'ul'):
            for info, reason in stranded:
                with Box(tag='li'):
                    text_link(f'/runs/{info.id}', info.title or info.id)
                    Text('span', reason)
