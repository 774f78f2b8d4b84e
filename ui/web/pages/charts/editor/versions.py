"""The versions of a chart in a dialog: to look at, to compare, to make current again."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from engine.charts.library import ChartVersion
from ui.app.backend import Backend
from ui.formatting.values import ago
from ui.web.components.dialogs import await_answer, dialog_frame, notify_errors
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, text_link
from ui.web.routing import chart_path, difference_path


async def show_versions(backend: Backend, name: str) -> None:
    """Open the dialog; leaving it by a link warns of unsaved changes, as any link does."""
    versions = await notify_errors(backend().charts.versions(name))
    if versions is None:
        return

    experiments = await _experiments_of(backend, name)
    now = backend().clock.now()
    current = next((version for version in versions if version.current), None)
    with dialog_frame(f'Versions of {name}', 'wide') as dialog:
        with Box('card rows chart-versions', 'ul'):
            for version in versions:
                with Box(tag='li'):
                    _draw_summary(version, now)
                    with Box('row-actions'):
                        if experiment := experiments.get(version.version):
                            text_link(f'/experiments/{experiment}', 'Experiment', 'btn small')
                        _draw_actions(backend, name, version, current, is_only=len(versions) == 1)
        with Box('dialog-actions'):
            button('Close', autofocus='').on('click', lambda: dialog.submit(None))
    await await_answer(dialog)


def _draw_summary(version: ChartVersion, now: float) -> None:
    with Box('row-summary'):
        with Box('chips', 'span'):
            Text('b', f'Version {version.number}')
            if version.current:
                Text('span', 'current', 'chip')
        who = f' by {version.author}' if version.author else ''
        note = f' · {version.note}' if version.note else ''
        Text('span', f'{ago(version.saved, now)}{who}{note}', 'muted small')


def _draw_actions(
    backend: Backend, name: str, version: ChartVersion, current: ChartVersion | None, *, is_only: bool
) -> None:
    async def restore() -> None:
        if await notify_errors(backend().charts.restore(name, version.version)) is not None:
            ui.navigate.to(chart_path(name))

    if not version.current:
        text_link(chart_path(name, version.version), 'Look at', 'btn small')
    if current and not version.current:
        path = difference_path(name, version.version, current.version)
        text_link(path, 'Difference', 'btn small')
    elif not is_only:
        text_link(difference_path(name, new=version.version), 'Difference', 'btn small')
    if not version.current:
        button('Make current', kind='small', requires='charts.restore').on('click', restore)


async def _experiments_of(backend: Backend, name: str) -> dict[str, str]:
    """Return the experiments whose variants became versions of a chart, by version."""
    try:
        defaults = await backend().experiments.defaults()
    except EngineError:  # The versions are more important.
        return {}
    return {item.version: item.experiment for item in defaults if item.pattern == name and item.version}
