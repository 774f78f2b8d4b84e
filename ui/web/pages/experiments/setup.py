"""The tab of the setup: on what, how and by whom an experiment compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from engine import EngineError
from engine.operations.experiments import DatasetInfo, Experiment, ScorerSpec
from engine.records import Launch
from ui.app.backend import Backend
from ui.formatting.experiments.table import CellTable
from ui.formatting.experiments.words import UNCHANGED, change_parts
from ui.formatting.steps import role_title, short_json
from ui.formatting.usage import amount_text
from ui.formatting.values import capitalize, count
from ui.web.components.widgets import Box, CachedElement, Text, text_link

MAX_VALUE = 200
"""Maximum number of characters shown of a setting on one line; longer ones get a block."""


class SetupPanel:
    """Everything that was chosen before the first run."""

    def __init__(self, backend: Backend, table: CellTable) -> None:
        """Draw it empty."""
        self._backend, self._table = backend, table
        self._place = CachedElement('experiment-tab', data_redrawn=True)

    async def show(self, experiment: Experiment) -> None:
        """Show the setup."""
        reused = sum(line.reused for line in self._table.runs())
        if not self._place.clear_if_changed((experiment.scorers, reused)):
            return
        dataset = await self._dataset(experiment)
        with self._place:
            with Box('facts wide', 'dl'):
                for name, value in self._facts(experiment, reused):
                    with Box():
                        Text('dt', name)
                        Text('dd', value, dir='auto')
                with Box():
                    Text('dt', 'Dataset')
                    with Box(tag='dd'):
                        if dataset:
                            where = f'/datasets/{experiment.dataset}?version={experiment.version}'
                            text_link(where, dataset.name)
                        else:
                            Text('span', 'It has been removed.')
                        words = _version_words(dataset, experiment.version)
                        Text('span', f' {words}', 'muted small', dir='auto')
                if experiment.after:
                    with Box(), Box(tag='dd'):
                        text_link(
                            f'/experiments/{experiment.after}', 'The experiment that this one continues'
                        )
            if base := _given(experiment.base):
                Text('h3', 'All runs')
                _draw_change(base)
            Text('h3', 'Variants')
            with Box('details-list', 'ul'):
                for variant in experiment.variants:
                    with Box(tag='li'):
                        Text('b', variant.name, dir='auto')
                        _draw_change(variant.change)
            Text('h3', 'Scorers')
            for spec in experiment.scorers:
                _draw_scorer(spec, is_main=spec is experiment.scorers[0])

    async def _dataset(self, experiment: Experiment) -> DatasetInfo | None:
        try:
            return await self._backend().datasets.get(experiment.dataset)
        except EngineError:
            return None

    @staticmethod
    def _facts(experiment: Experiment, reused: int) -> Iterator[tuple[str, str]]:
        yield 'Pattern', experiment.base.pattern
        if experiment.split:
            yield 'Split', experiment.split
        yield 'Repeats', f'{experiment.repeats} of each case by each variant'
        yield 'At once', count(experiment.at_once, 'run')
        limits = experiment.budget.limits() if experiment.budget else {}
        yield 'Budget', ', '.join(amount_text(kind, value) for kind, value in limits.items()) or 'None'
        if experiment.recorded:
            yield 'Replies', 'Recorded by the runs that the cases were made from'
        if experiment.fail_under is not None:
            yield 'Regressed if worse than', f'{experiment.fail_under:g}'
        yield 'Early stop', 'Once the answer is clear' if experiment.stop_early else 'No'
        if reused:
            yield 'Reused', f'{count(reused, "run")} of an earlier experiment, since nothing had changed'


def _given(launch: Launch) -> dict[str, Any]:
    """Return what a launch has besides its pattern."""
    plain = Launch(pattern='')
    return {
        item.name: value
        for item in fields(launch)
        if item.name != 'pattern' and (value := getattr(launch, item.name)) != getattr(plain, item.name)
    }


def _version_words(dataset: DatasetInfo | None, version: str) -> str:
    """Return which of its versions, with how many cases: version 2 of 3, 40 cases, its note."""
    versions = dataset.versions if dataset else ()
    for number, item in enumerate(versions, start=1):
        if item.id == version:
            parts = (f'version {number} of {len(versions)}', count(item.cases, 'case'), item.note)
            return ', '.join(filter(None, parts))
    return f'version {version[:8]}'


def _draw_change(change: Mapping[str, Any]) -> None:
    """Draw each difference from the base; instructions and stubs can be read in full."""
    parts = change_parts(change)
    if not parts:
        Text('span', UNCHANGED, 'muted')
        return
    with Box('setup-change'):
        with Box('change-chips'):
            for part in parts:
                Text('span', part.words, 'chip change-chip', dir='auto')
        for name in ('instructions', 'stubs'):
            values = change.get(name)
            for role, value in values.items() if isinstance(values, Mapping) else ():
                if value is not None:
                    with Box('fold', 'details'):
                        Text('summary', f'{capitalize(name)}: {role_title(role) if role else "all roles"}')
                        text = value if isinstance(value, str) else short_json(value, 10 * MAX_VALUE)
                        Text('pre', text, 'scorer-text', dir='auto')


def _draw_scorer(spec: ScorerSpec, *, is_main: bool) -> None:
    with Box('scorer', 'section', aria_label=spec.name):
        with Box('scorer-head'):
            Text('b', spec.name, dir='auto')
            Text('span', spec.kind, 'chip')
            if is_main:
                Text('span', 'decides', 'chip strong')
            if spec.better == 'lower':
                Text('span', 'lower is better', 'chip')
        default_model = {'model': 'the simulated one'} if spec.kind == 'model' else {}
        _draw_settings({**default_model, **spec.settings})


def _draw_settings(settings: Mapping[str, Any]) -> None:
    if not settings:
        return
    with Box('facts', 'dl'):
        for name, value in settings.items():
            text = value if isinstance(value, str) else short_json(value, 10 * MAX_VALUE)
            with Box():
                Text('dt', capitalize(name.replace('_', ' ')))
                if len(text) > MAX_VALUE or '\n' in text:
                    Text('pre', text, 'scorer-text', dir='auto')
                else:
                    Text('dd', text, dir='auto')
