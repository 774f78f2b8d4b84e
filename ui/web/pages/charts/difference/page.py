"""The page of the difference between two versions of a chart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from nicegui import ui

from engine import EngineError
from engine.charts.library import ChartVersion
from engine.errors import UnknownPattern, UnknownVersion
from ui.app.backend import Backend
from ui.formatting.values import ago
from ui.web.components.theme import empty_state, frame, page_head, text_notice
from ui.web.components.widgets import Box, NativeSelect, label
from ui.web.pages.charts.checking import check_chart
from ui.web.pages.charts.difference.side import side_of
from ui.web.pages.charts.difference.view import DifferenceView, compare_sides
from ui.web.pages.shared import errors
from ui.web.routing import chart_path, difference_path, serve_page


def register(backend: Backend) -> None:
    """Serve the page; `?from=` and `?to=` are versions, by default the newest two."""

    @serve_page('/charts/{name}/difference')
    async def difference(request: Request, name: str) -> None:
        try:
            versions = await backend().charts.versions(name)
        except (UnknownPattern, EngineError):
            errors.unknown_pattern(backend, name)
            return
        pair = _pair(versions, request.query_params.get('from', ''), request.query_params.get('to', ''))
        with frame(f'Difference of {name}', here='/charts', of_runs=True):
            with page_head(f'What changed in {name}', back=(chart_path(name), 'Editor')):
                if len(versions) > 1:
                    _draw_choice(backend, name, versions, pair)
            await _draw(backend, name, pair)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions, the older first; None if there is no such version."""

    old: ChartVersion | None
    new: ChartVersion | None


def _pair(versions: Sequence[ChartVersion], old: str, new: str) -> Pair:
    """Return the versions with these digests; by default the current one, and the one before the new one."""
    by_digest = {version.version: version for version in versions}
    current = next((version for version in versions if version.current), versions[0])
    later = by_digest.get(new) if new else current
    before = [version for version in versions if later and version.number < later.number]
    earlier = by_digest.get(old) if old else max(before, key=lambda version: version.number, default=None)
    return Pair(earlier, later)


def _draw_choice(backend: Backend, name: str, versions: Sequence[ChartVersion], pair: Pair) -> None:
    now = backend().clock.now()
    options = {
        version.version: f'Version {version.number}, {ago(version.saved, now)}'
        + (f' by {version.author}' if version.author else '')
        for version in versions
    }

    def go() -> None:
        ui.navigate.to(difference_path(name, old.value, new.value))

    def choose(words: str, version: ChartVersion | None) -> NativeSelect:
        with Box('difference-choice'):
            select = NativeSelect(options, value=version.version if version else '', on_change=go)
            label(words, select, 'muted small').move(target_index=0)
        return select

    with Box('difference-choice'):
        old, new = choose('From', pair.old), choose('To', pair.new)


async def _draw(backend: Backend, name: str, pair: Pair) -> None:
    if pair.old is None or pair.new is None:
        empty_state('difference', 'There is only one version.' if pair.new else 'There is no such version.')
        return
    sides = []
    for version in (pair.old, pair.new):
        title = f'Version {version.number}'
        try:
            text = (await backend().charts.get(name, version.version)).text
        except UnknownVersion as error:
            text_notice('fail', 'error', f'{title} cannot be read: {error}.')
            return
        checked = await asyncio.to_thread(check_chart, text, name)
        side = side_of(title, checked)
        if side is None:
            text_notice('fail', 'error', f'{title} cannot be drawn: {checked.problems[0]["text"]}')
            return
        sides.append(side)
    await DifferenceView(await asyncio.to_thread(compare_sides, *sides)).draw()
