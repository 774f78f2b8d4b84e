"""The home page: a desk with requests, runs under way, results, a field for a task, and patterns."""

from __future__ import annotations

from engine import EngineError
from engine.records import RunQuery
from ui.app.backend import Backend
from ui.web.components.theme import frame, notice, page_head, section_head, skip_link
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.home.ask import AskField
from ui.web.pages.home.card import pattern_cards
from ui.web.pages.home.panels import (
    FirstRun,
    ModelsCard,
    NeedsYou,
    agents_card,
    new_run_card,
)
from ui.web.pages.home.results import LatestResults
from ui.web.pages.home.running import Running
from ui.web.pages.shared.attention import AttentionFeed
from ui.web.pages.shared.errors import draw_load_errors
from ui.web.pages.shared.launching.samples import FIRST
from ui.web.permission import is_permitted
from ui.web.routing import AUTHOR, DESCRIBE, add_place, launch_path, serve_page

INVITATION = 'Pick a pattern and run a sample. No key, no setup, no cost.'


def register(backend: Backend) -> None:
    """Serve the page."""
    attentions = AttentionFeed(backend)
    add_place(
        launch_path(AUTHOR),
        DESCRIBE,
        lambda: is_permitted('start') and AUTHOR in backend().catalog.patterns,
    )

    @serve_page('/', 'Home')
    async def home() -> None:
        attention = attentions()
        await backend().catalog.refresh()
        with frame(here='/'):
            has_runs = await _has_any_runs(backend)
            if has_runs:
                Text('h1', 'Home', 'visually-hidden')
            else:
                page_head('Put a team of agents to work and watch every step', INVITATION)
            with Box('notices'):
                draw_load_errors(backend)
                await _draw_stranded(backend)
            with Box('home'):
                with Box('home-main'):
                    needs, running = NeedsYou(attention), Running(backend)
                    await needs.load()
                    await running.load()
                    if not has_runs and FIRST in backend().catalog.patterns:
                        await FirstRun(backend).load()
                    results = LatestResults(backend)
                    await results.load()
                    target = AskField(backend, FIRST).element if has_runs else results.element
                with Box('home-side'):
                    new_run = None if has_runs else new_run_card(backend)
                    await ModelsCard(backend).load()
                    agents_card(backend)
            with Box('section', 'section', aria_labelledby='patterns') as patterns:
                with section_head('Patterns', 'patterns'):
                    if AUTHOR in backend().catalog.patterns:
                        text_link(launch_path(AUTHOR), DESCRIBE, 'btn small', icon='auto_awesome')
                pattern_cards(backend)
            for name, part in (
                ('new run', new_run or target),
                ('results', results.element),
                ('patterns', patterns),
            ):
                skip_link(f'Skip to {name}', part)


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
