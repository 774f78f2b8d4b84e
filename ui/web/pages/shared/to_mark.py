"""Experiments with answers to mark, for the inbox and the page of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

from engine import Conductor, EngineError
from engine.operations.experiments import Experiment, Unmarked
from ui.formatting.values import capitalize, count
from ui.web.components.widgets import Box, CachedElement, Text, text_link
from ui.web.permission import is_permitted


def has_people(experiment: Experiment) -> bool:
    """Whether people score its runs, and the caller may."""
    return is_permitted('experiments.mark') and any(spec.kind == 'people' for spec in experiment.scorers)


async def find_unmarked(conductor: Conductor) -> Sequence[Unmarked]:
    """Return what the caller has left to mark; none if they may not, or if it cannot be read."""
    if not is_permitted('experiments.mark'):
        return ()
    try:
        return await conductor.experiments.unmarked()
    except EngineError:
        return ()  # the pages of experiments say why


def mark_path(experiment: str) -> str:
    """Return the path of the page on which answers of an experiment are marked."""
    return f'/experiments/{experiment}/mark'


class ToMark:
    """What is to be marked, by experiment, with links; nothing if there is none."""

    def __init__(self) -> None:
        """Draw it empty."""
        self._place = CachedElement('ghost', data_redrawn=True)

    def show(self, unmarked: Sequence[Unmarked]) -> None:
        """Show these experiments."""
        if not self._place.clear_if_changed(tuple(unmarked)) or not unmarked:
            return
        with self._place, Box('card rows marks', 'ul', aria_label='Answers to mark'):
            for item in unmarked:
                with Box(tag='li'):
                    Text('b', capitalize(item.name), dir='auto')
                    waits = 'waits' if item.left == 1 else 'wait'
                    words = f'{count(item.left, "answer")} {waits} to be marked, without names of variants.'
                    Text('span', words, 'muted small')
                    with Box('row-actions'):
                        text_link(mark_path(item.experiment), 'Mark answers', 'btn small')
