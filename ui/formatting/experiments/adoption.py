"""The difference that making a variant the default would make to a chart."""

from __future__ import annotations

import difflib

from engine.operations.experiments import AdoptionPlan


def adoption_difference(plan: AdoptionPlan) -> list[str]:
    """Return the lines of a unified difference: the chart as it is now, and with the change."""
    texts = plan.before.splitlines(), plan.after.splitlines()
    return [*difflib.unified_diff(*texts, 'now', 'then', lineterm='')]
