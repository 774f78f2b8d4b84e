"""The tab of the diagram: where the runs of a variant went, against those of the first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from engine import EngineError
from engine.history import merge_shapes
from engine.operations.experiments import Experiment, PathAnswer
from engine.records import RunId, Shape
from ui.app.backend import Backend
from ui.formatting.experiments.paths import PathLine, path_layer, path_lines
from ui.formatting.values import percent
from ui.web.components.diagram.many_runs import ManyRunsChart
from ui.web.components.theme import empty_state, text_notice
from ui.web.components.widgets import Box, CachedElement, NativeSelect, Text, label, set_attributes

LEGEND = (
    ('path-both', 'Both'),
    ('path-a', 'Only A, the first variant'),
    ('path-b', 'Only B'),
    ('parting', 'They part: the wider, the more'),
)


class PathsPanel:
    """One diagram with the ways of two variants, or of the only one; where they part; scores by way."""

    def __init__(
        self, backend: Backend, experiment: Experiment, sample_runs: Callable[[], Iterable[RunId]]
    ) -> None:
        """Draw it empty; `sample_runs` returns runs whose charts are drawn, some of each variant."""
        self._backend, self._experiment, self._sample_runs = backend, experiment, sample_runs
        self._answer: PathAnswer | None = None
        self._shape: Shape | None = None
        self._cursor, self._reading = -1.0, asyncio.Lock()
        self._base, *others = [variant.name for variant in experiment.variants]
        self._has_two = bool(others)
        others = others or [self._base]
        with Box('cells-tools'):
            with Box('paths-choice') as choice:
                self._variant = NativeSelect(
                    {name: name for name in others}, value=others[0], on_change=self._show_paths
                )
                label(f'A is {self._base}; B is', self._variant, 'small').move(target_index=0)
            choice.set_visibility(self._has_two)
            Box('grow', 'span')
            tools = Box('heat-tools')
        with Box('legend') as legend:
            for kind, words in LEGEND:
                with Box(f'legend-item {kind}', 'span'):
                    Box(tag='i', aria_hidden='true')
                    Text('span', words)
        legend.set_visibility(self._has_two)
        with Box('paths-body'):
            body = Box('paths-chart')
            with Box('paths-side'):
                self._lines = CachedElement('ghost', data_redrawn=True)
                with self._lines:
                    Text('p', 'Reading where the runs went…', 'muted', role='status')
        self._problem = CachedElement('ghost')
        self._chart = ManyRunsChart(
            'Ways of its runs through',
            tools=tools,
            body=body,
            on_fold=self._draw,
        )

    async def show(self, cursor: float) -> None:
        """Show where the runs went that have ended; `cursor` says what has changed."""
        async with self._reading:  # one after the other, so that the newest is shown last
            if cursor != self._cursor:
                await self._read(cursor)

    async def _read(self, cursor: float) -> None:
        self._cursor = cursor
        try:
            self._answer = await self._backend().experiments.paths(self._experiment.id)
            shapes = [await self._backend().shape(run) for run in self._sample_runs()]
        except EngineError as error:
            self._cursor = -1.0
            self._lines.clear_if_changed('unread')
            if self._problem.clear_if_changed(str(error)):
                with self._problem:
                    text_notice('fail', 'error', f'The paths cannot be read: {error}.')
            return
        if self._lines.is_deleted:
            return
        self._problem.clear_if_changed('')
        if not shapes or not self._answer.places:
            if self._lines.clear_if_changed('none'):
                with self._lines:
                    empty_state('account_tree', 'No run has ended yet.')
            return
        self._shape = merge_shapes(shapes)
        await self._draw()

    async def _draw(self) -> None:
        if self._shape is not None:
            await self._chart.draw(self._shape)
            self._show_paths()

    def _show_paths(self) -> None:
        if self._answer is None or self._shape is None:
            return
        variant = self._variant.value
        self._chart.overlay('paths', path_layer(self._answer, self._base, variant, self._chart.folded))
        effects = [effect for effect in self._answer.effects if effect.variant in (self._base, variant)]
        lines = path_lines(self._answer, self._base, variant, self._chart.folded)
        if not self._lines.clear_if_changed((lines, effects)):
            return
        with self._lines:
            if self._has_two:
                Text('h3', 'Where they part most')
            if self._has_two and not lines:
                Text('p', 'Nowhere: all runs of both went the same way.', 'muted')
            for line in lines:
                self._draw_line(line)
            Text('h3', 'What runs scored that went a certain way')
            if effects:
                with Box('details-list', 'ul'):
                    for effect in effects:
                        Text('li', effect.text, dir='auto')
            else:
                text = 'Nothing clear: runs that went different ways scored alike, or are too few.'
                Text('p', text, 'muted')

    def _draw_line(self, line: PathLine) -> None:
        with Box('paths-line', 'button', type='button') as row:
            with Box('paths-head', 'span'):
                Text('b', line.title, dir='auto')
                Text('span', f'{percent(line.gap)} apart', 'chip strong' if line.clear else 'chip')
            Text('span', f'A {line.base} · B {line.variant}', 'muted small num')
        set_attributes(row, title='Clear: chance alone hardly gives this' if line.clear else 'May be chance')
        row.on('click', lambda: self._chart.pick(line.name))
