"""What a person does with a result: try a change, save, share or test it; or mend a failure."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from ui.web.components.copy_buttons import copy_text
from ui.web.components.theme import button
from ui.web.components.widgets import Box, text_link
from ui.web.pages.run.pane import RunPage
from ui.web.pages.shared.launching.rerun import retry
from ui.web.routing import AUTHOR, CHANGE, compare_path, launch_path

MEND = 'Change what made this run fail.'
"""What the author is asked, unless a person says more."""


def draw_actions(page: RunPage, markdown: Callable[[], str]) -> None:
    """Draw the actions on a result; without its pattern, a run can only be read. A fork can be compared."""
    run, known, parent = page.context.run, _is_known(page), page.context.info.parent
    with Box('result-actions', role='group', aria_label='Actions on the result'):
        if parent:
            text_link(compare_path(parent, run), 'Compare', 'btn small', icon='compare_arrows')
        if known:
            kind = 'btn quiet small' if parent else 'btn small'
            text_link(f'/runs/{run}/fork', 'Try a change', kind, icon='' if parent else 'call_split')
        button('Download', kind='quiet small').on(
            'click', lambda: ui.download.content(markdown().encode(errors='replace'), 'result.md')
        )
        if page.viewer.name:
            button('Share', kind='quiet small').on('click', lambda: _copy_link(f'/runs/{run}'))
        else:
            text_link(f'/runs/{run}/export/html', 'Share', 'btn quiet small', download='')
        if known:
            text_link(f'/runs/{run}/export/test', 'Add to tests', 'btn quiet small', download='')


def draw_repairs(page: RunPage, failed_at: int, *, may_retry: bool) -> None:
    """Draw the ways from a failure: to its step, to a retry, to a fork from before it."""
    run, known = page.context.run, _is_known(page)
    with Box('result-actions', role='group', aria_label='What you can do'):
        button(f'Go to step {failed_at}', kind='quiet small').on('click', lambda: page.seek(failed_at))
        if known:
            text_link(f'/runs/{run}/fork?at={max(failed_at - 1, 0)}', 'Fork before it', 'btn quiet small')
            pattern = page.context.info.pattern
            if AUTHOR in page.context.conductor.catalog.patterns and pattern != AUTHOR:
                mend = launch_path(AUTHOR, MEND, base=pattern, run=run)
                text_link(mend, CHANGE, 'btn quiet small')
        if known and may_retry:
            button('Retry', kind='small', icon='healing', requires='retry').on(
                'click', lambda: retry(page.context.conductor, page.context.info)
            )


def _is_known(page: RunPage) -> bool:
    return page.context.conductor.catalog.find_of(page.context.info) is not None


async def _copy_link(path: str) -> None:
    """Copy the run's full address: who opens it sees what their role allows."""
    origin = await ui.run_javascript('location.origin', timeout=10)
    await copy_text(f'{origin}{path}', f'Share this address: {origin}{path}')
