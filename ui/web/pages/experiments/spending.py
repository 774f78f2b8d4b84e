"""The tab of cost and time: what the variants use for their scores."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from engine.experiments import Answer, Experiment, VariantSummary
from ui.formatting.experiments.pictures import Point, front, pareto
from ui.formatting.values import count
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, CachedElement, NativeSelect, Text, label

UNITS: dict[str, tuple[str, Callable[[VariantSummary], float | None]]] = {
    'cost': ('Cost', lambda summary: summary.dollars),
    'tokens': ('Tokens', lambda summary: summary.tokens),
    'time': ('Time', lambda summary: summary.seconds),
}


class SpendingPanel:
    """Score against cost, tokens or time."""

    def __init__(self, experiment: Experiment) -> None:
        """Draw it empty."""
        self._experiment = experiment
        self._answer: Answer | None = None
        self._chosen = ''
        with Box('experiment-tab'):
            with Box('cells-tools plain'):
                self._unit = NativeSelect(
                    {unit: text for unit, (text, _) in UNITS.items()}, value='cost', on_change=self._choose
                )
                label('Score against', self._unit, 'label small').move(target_index=0)
            self._place = CachedElement('ghost', data_redrawn=True)

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
            Text('p', _say(best, word), 'small')
            if missing := len(self._answer.variants) - len(known):
                Text(
                    'p',
                    f'{count(missing, "variant")} left out: {word.lower()} or score unknown.',
                    'muted small',
                )


def _say(best: frozenset[str], word: str) -> str:
    names = sorted(best)
    if len(names) == 1:
        return f'{names[0]} is the best choice: no other scores better, or as well for less {word.lower()}.'
    listed = f'{", ".join(names[:-1])} and {names[-1]}'
    return f'Worth choosing between: {listed}. Each of the others scores no better than one of them for more.'
