"""The tab of cost and time: what the variants use for their scores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from nicegui import ui

from engine import EngineError
from engine.operations.experiments import Answer, Experiment, PathAnswer, TrendPoint, VariantSummary, quoted
from ui.app.backend import Backend
from ui.formatting.experiments.paths import amount_words, state_uses
from ui.formatting.experiments.pictures import Point, front, pareto, trend_picture
from ui.formatting.experiments.table import figure, signed
from ui.formatting.steps import path_text
from ui.formatting.values import count
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, CachedElement, NativeSelect, Text, label, table_head

UNITS: dict[str, tuple[str, Callable[[VariantSummary], float | None]]] = {
    'cost': ('Cost', lambda summary: summary.dollars),
    'tokens': ('Tokens', lambda summary: summary.tokens),
    'time': ('Time', lambda summary: summary.seconds),
}

MAX_STATES = 30
"""Maximum number of states in their table."""
MIN_TREND = 2
"""Number of versions from which there is a trend."""


class SpendingPanel:
    """Score against cost, tokens or time."""

    def __init__(self, backend: Backend, experiment: Experiment) -> None:
        """Draw it empty."""
        self._backend, self._experiment = backend, experiment
        self._answer: Answer | None = None
        self._chosen = ''
        self._cursor, self._reading = -1.0, asyncio.Lock()
        with Box('experiment-tab'):
            with Box('cells-tools plain'):
                self._unit = NativeSelect(
                    {unit: text for unit, (text, _) in UNITS.items()}, value='cost', on_change=self._choose
                )
                label('Score against', self._unit, 'label small').move(target_index=0)
            self._place = CachedElement('ghost', data_redrawn=True)
            self._more = CachedElement('ghost', data_redrawn=True)

    async def load(self, cursor: float) -> None:
        """Show cost and time in each state, and the trend over versions; `cursor` says what has changed."""
        async with self._reading:
            if cursor != self._cursor:
                await self._read(cursor)

    async def _read(self, cursor: float) -> None:
        self._cursor = cursor
        try:
            paths = await self._backend().experiments.paths(self._experiment.id)
            trend = await self._backend().experiments.trend(self._experiment.id)
        except EngineError:
            self._cursor = -1.0
            return  # the diagram says why
        if self._more.is_deleted or not self._more.clear_if_changed((paths, trend)):
            return
        with self._more:
            _draw_states(paths, [variant.name for variant in self._experiment.variants])
            _draw_trend(trend, self._experiment.scorers[0].name)

    def show(self, answer: Answer) -> None:
        """Show the picture; where nothing is known to have cost anything, that of tokens."""
        self._answer = answer
        if not self._chosen and not any(summary.dollars for summary in answer.variants):
            self._unit.set_value('tokens')
            self._chosen = ''
        self._draw()

    def _choose(self) -> None:
        self._chosen = self._unit.value
        self._draw()

    def _draw(self) -> None:
        if self._answer is None or not self._place.clear_if_changed((self._answer, self._unit.value)):
            return
        word, read = UNITS[self._unit.value]
        spec = self._experiment.scorers[0]
        known = [
            (summary.variant, mean, spent)
            for summary in self._answer.variants
            if (mean := summary.scores[0].mean) is not None and (spent := read(summary)) is not None
        ]
        with self._place:
            if not known:
                empty_state('insights', f'{word} and score of no variant are known yet.')
                return
            best = front(known, higher=spec.better == 'higher')
            points = [
                Point(name=name, score=score, spent=spent, is_on_front=name in best)
                for name, score, spent in known
            ]
            ui.html(pareto(points, measure=spec.name, unit=self._unit.value), sanitize=False)
            if len(self._answer.variants) > 1:
                Text('p', _say(best, word), 'small')
            if missing := len(self._answer.variants) - len(known):
                Text(
                    'p',
                    f'{count(missing, "variant")} left out: {word.lower()} or score unknown.',
                    'muted small',
                )


def _draw_states(paths: PathAnswer, variants: Sequence[str]) -> None:
    rows = state_uses(paths)
    if not rows:
        return
    Text('h3', 'Cost and time of a run in each state')
    with Box('wide-table'), Box('table numbers', 'table'):
        table_head(['State', *variants])
        with Box(tag='tbody'):
            for path, uses in rows[:MAX_STATES]:
                with Box(tag='tr'):
                    Text('th', path_text(path), scope='row', dir='auto')
                    for name in variants:
                        Text('td', amount_words(uses[name]) or '–', 'num')
    if (more := len(rows) - MAX_STATES) > 0:
        Text('p', f'{count(more, "state")} with less time left out.', 'muted small')


def _draw_trend(trend: Sequence[TrendPoint], measure: str) -> None:
    """Draw what versions of the workflow scored, if there are several."""
    if len(trend) < MIN_TREND:
        return
    Text('h3', f'Versions of this workflow, by {measure}')
    ui.html(trend_picture(trend, measure), sanitize=False)
    with Box('wide-table'), Box('table numbers', 'table'):
        table_head(['Version', 'Cases', 'Mean', 'Change'])
        with Box(tag='tbody'):
            for point in trend:
                with Box(tag='tr'):
                    Text('th', point.version[:12] or '–', scope='row')
                    Text('td', f'{point.cases:,}', 'num')
                    Text('td', f'{figure(point.mean)} ({figure(point.low)} to {figure(point.high)})', 'num')
                    Text('td', '–' if point.change is None else signed(point.change), 'num')


def _say(best: frozenset[str], word: str) -> str:
    names = [quoted(name) for name in sorted(best)]
    less = 'fewer tokens' if word == 'Tokens' else f'less {word.lower()}'
    if len(names) == 1:  # The verdict says whether that is clear.
        return f'By the means alone, {names[0]} is ahead: no other scores better, or as well for {less}.'
    listed = f'{", ".join(names[:-1])} and {names[-1]}'
    return (
        f'Worth choosing between, by the means alone: {listed}.'
        ' Each of the others scores no better than one of them for more.'
    )
