"""Experiments with answers to mark, for the inbox and the page of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

from engine import Conductor, EngineError
from engine.operations.experiments import Experiment
from ui.formatting.values import capitalize
from ui.web.components.widgets import Box, CachedElement, Text, text_link
from ui.web.permission import is_permitted

MAX_ASKED = 20
"""Maximum number of experiments, the newest ones, that are looked at."""


def has_people(experiment: Experiment) -> bool:
    """Whether people score its runs, and the caller may."""
    return is_permitted('experiments.mark') and any(spec.kind == 'people' for spec in experiment.scorers)


async def find_to_mark(conductor: Conductor) -> list[Experiment]:
    """Return the experiments with answers that the caller has not marked; none if they cannot be read."""
    try:
        candidates = [item for item in await conductor.experiments.list() if has_people(item)][:MAX_ASKED]
        return [item for item in candidates if await conductor.experiments.to_mark(item.id, 1)]
    except EngineError:
        return []  # the pages of experiments say why


class ToMark:
    """Links to what is to be marked; nothing if there is none."""

    def __init__(self) -> None:
        """Draw it empty."""
        self._place = CachedElement('ghost', data_redrawn=True)

    def show(self, experiments: Sequence[Experiment]) -> None:
        """Show these experiments."""
        if not self._place.clear_if_changed([item.id for item in experiments]) or not experiments:
            return
        with self._place, Box('card rows marks', 'ul', aria_label='Answers to mark'):
            for item in experiments:
                with Box(tag='li'):
                    Text('b', capitalize(item.name), dir='auto')
                    Text('span', 'Answers wait to be marked, without names of variants.', 'muted small')
                    with Box('row-actions'):
                        text_link(f'/experiments/{item.id}/mark', 'Mark answers', 'btn small')
