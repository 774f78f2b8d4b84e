"""The answer of an experiment: what it says in words, each variant against the first, and the numbers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from nicegui import ui

from engine.operations.experiments import (
    Agreement,
    Answer,
    Experiment,
    LaunchDefault,
    Variant,
    VariantComparison,
    VariantSummary,
    figures,
    plain,
)
from ui.formatting.experiments.pictures import interval
from ui.formatting.experiments.table import MINUS, figure
from ui.formatting.experiments.words import variant_words
from ui.formatting.steps import duration
from ui.formatting.usage import dollars
from ui.formatting.values import compact, count, first_sentence, percent
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text, table_head, text_link
from ui.web.permission import is_permitted
from ui.web.routing import chart_path

STANDINGS: Mapping[str, tuple[str, str, str]] = {
    'better': ('Better', 'done', 'up'),
    'worse': ('Worse', 'cancelled', 'down'),
    'unclear': ('No clear difference', 'cancelled', ''),
    'open': ('Not known yet', 'cancelled', ''),
    'nothing': ('Nothing to compare', 'cancelled', ''),
}
"""By standing: its words, the class of its pill, and the tone of its interval."""
NO_DEFAULTS: Mapping[str, LaunchDefault] = {}


class Verdict:
    """The card at the top: the sentence, and a line for each variant."""

    def __init__(
        self,
        on_adopt: Callable[[Variant], Awaitable[None]],
        on_undo: Callable[[LaunchDefault], Awaitable[None]],
    ) -> None:
        """Draw it empty; `on_adopt` makes a variant the default, `on_undo` takes that back."""
        self._on_adopt, self._on_undo = on_adopt, on_undo
        self._card = CachedElement(
            'card experiment-verdict', 'section', aria_label='Answer', data_redrawn=True
        )
        self._card.set_visibility(False)

    def show(
        self, experiment: Experiment, answer: Answer, defaults: Mapping[str, LaunchDefault] = NO_DEFAULTS
    ) -> None:
        """Show what the runs say; `defaults` are the variants that are defaults now, by name."""
        if not self._card.clear_if_changed((answer, experiment.variants, experiment.state, defaults)):
            return
        self._card.set_visibility(True)
        main = experiment.scorers[0].name
        comparisons = {item.variant: item for item in answer.comparisons if item.measure == main}
        reach = max(
            (abs(end) for item in comparisons.values() for end in (item.low, item.high) if end is not None),
            default=1.0,
        )
        with self._card:
            words = first_sentence(answer.text) if comparisons else _alone(answer.variants[0])
            Text('p', words, 'verdict-words', dir='auto')
            with Box('verdict-lines'):
                for variant, summary in zip(experiment.variants, answer.variants, strict=True):
                    with Box('verdict-line'):
                        item = comparisons.get(variant.name)
                        self._draw_line(variant, summary, item, reach if comparisons else None)
                        may_adopt = experiment.is_over and item and item.standing not in ('worse', 'nothing')
                        self._draw_default(variant, defaults.get(variant.name), may_adopt=bool(may_adopt))

    def _draw_line(
        self,
        variant: Variant,
        summary: VariantSummary,
        item: VariantComparison | None,
        reach: float | None,
    ) -> None:
        """Draw all but its last cell; `reach` is the value at the ends of intervals, None without others."""
        mean = summary.scores[0].mean
        with Box('verdict-name'):
            Text('b', variant.name, dir='auto')
            Text('span', variant_words(variant), 'muted small', dir='auto')
        Text('span', '–' if mean is None else figure(mean), 'verdict-score num', title='Mean score')
        if item is None or reach is None:
            text = 'The only variant' if reach is None else 'What the others are compared with'
            Text('span', text, 'verdict-base muted small')
            return
        word, kind, tone = STANDINGS[item.standing]
        if item.difference is None or item.low is None or item.high is None:
            Text('span', '')
            Text('span', '')
        else:
            words = _bounds(item.difference, item.low, item.high)
            ui.html(interval((item.low, item.difference, item.high), reach, tone, words), sanitize=False)
            Text('span', words, 'small num')
        Text('span', _notes(summary, item), 'muted small num')
        with Box(tag='span'):
            Text('span', word, f'pill {kind}')

    def _draw_default(self, variant: Variant, default: LaunchDefault | None, *, may_adopt: bool) -> None:
        """Draw a variant's last cell: that it is the default, or the way to make it that."""
        with Box('verdict-default', 'span'):
            if default:
                if default.version:
                    title = f'A version of the chart {default.pattern}'
                    text_link(chart_path(default.pattern), 'Default', 'chip strong', title=title)
                else:
                    title = 'The launch form of the pattern starts from it'
                    Text('span', 'Default', 'chip strong', title=title)
                if is_permitted('experiments.reset_default'):
                    undo = button('Undo', kind='small quiet', aria_label=f'Undo default: {variant.name}')
                    undo.on('click', lambda: self._on_undo(default))
            elif may_adopt and variant.change.keys() - {'stubs'} and is_permitted('experiments.adopt'):
                adopt = button('Make default', kind='small', aria_label=f'Make default: {variant.name}')
                adopt.on('click', lambda: self._on_adopt(variant))


def _alone(summary: VariantSummary) -> str:
    """Return what there is to say of the only variant."""
    main = summary.scores[0]
    if main.mean is None:
        return 'No run has been scored.'
    return f'{summary.variant}: {main.measure} {figure(main.mean)} on {count(main.cases, "case")}.'


def _bounds(difference: float, low: float, high: float) -> str:
    """Return a difference with its interval, all with their signs: +0.12 (+0.10 to +0.13)."""
    if difference == low == high == 0:
        return '0'
    words = zip((difference, low, high), figures(difference, low, high), strict=True)
    by, least, most = (MINUS + text.removeprefix('-') if value < 0 else f'+{text}' for value, text in words)
    return f'{by} ({least} to {most})'


def _notes(summary: VariantSummary, item: VariantComparison) -> str:
    """Return what else matters of a comparison: on how many cases, cost, failures."""
    notes = [count(item.cases, 'case')]
    if item.cost_ratio is not None:
        notes.append(f'{plain(item.cost_ratio)}\N{MULTIPLICATION SIGN} cost')
    if summary.failed:
        notes.append(f'{summary.failed:,} failed')
    return ' · '.join(notes)


def draw_numbers(experiment: Experiment, answer: Answer) -> None:
    """Draw the numbers of all variants by all scorers, and what the other scorers say in words."""
    names = ['Variant', *(spec.name for spec in experiment.scorers)]
    with Box('wide-table'), Box('table numbers', 'table'):
        table_head([*names, 'Spread', 'Failed', 'Not scored', 'Cost', 'Tokens', 'Time'])
        with Box(tag='tbody'):
            for summary in answer.variants:
                main = summary.scores[0]
                with Box(tag='tr'):
                    Text('th', summary.variant, scope='row', dir='auto')
                    for scores in summary.scores:
                        Text('td', '–' if scores.mean is None else figure(scores.mean), 'num')
                    Text('td', '–' if main.spread is None else f'±{figure(main.spread)}', 'num')
                    Text('td', f'{summary.failed:,} of {summary.runs:,}', 'num')
                    Text('td', f'{main.not_scored:,}', 'num')
                    Text('td', 'unknown' if summary.dollars is None else dollars(summary.dollars), 'num')
                    Text('td', '–' if summary.tokens is None else compact(round(summary.tokens)), 'num')
                    Text('td', '–' if summary.seconds is None else duration(summary.seconds), 'num')
    Text(
        'p',
        'Scores are means over cases; spread is between repeats of the same case. Cost, tokens and time are'
        ' those of a run. Failed runs and those not scored count for no score.',
        'muted small',
    )
    Text('h3', 'In words')
    with Box('details-list', 'ul'):
        for item in answer.comparisons:
            Text('li', item.text, dir='auto')


def draw_agreement(agreements: Sequence[Agreement]) -> None:
    """Say how far each scorer agrees with people's marks, if there are any of the same runs."""
    lines = [line for item in agreements if (line := _agreement_words(item))]
    if lines:
        Text('h3', 'Agreement with people')
        with Box('details-list', 'ul'):
            for line in lines:
                Text('li', line, dir='auto')


def _agreement_words(item: Agreement) -> str:
    parts = []
    if item.runs and item.difference is not None:
        rank = '' if item.correlation is None else f', rank correlation {item.correlation:.2f}'
        parts.append(f'{figure(item.difference)} apart on average in {count(item.runs, "run")}{rank}')
    if item.pairs and item.alike is not None:
        parts.append(f'the same one better in {percent(item.alike)} of {count(item.pairs, "pair")}')
    return f'{item.scorer}: {"; ".join(parts)}.' if parts else ''
