"""Drafts of charts in words."""

from __future__ import annotations

from collections.abc import Sequence

from engine.patterns import ChartDraft
from engine.records import View
from engine.statechart import read_leniently
from ui.formatting.results.blocks import Prose, Result
from ui.formatting.results.contests import Times
from ui.formatting.usage import figure
from ui.formatting.values import as_sentence, count


def draft_state(draft: ChartDraft, *, saved: bool = False) -> tuple[str, str]:
    """Return how a draft stands, as a CSS class and in words."""
    if saved:
        return 'good', 'Saved'
    if draft.sound:
        return 'good', 'Passes all checks'
    return 'bad', count(len(draft.serious), 'problem')


def draft_facts(draft: ChartDraft) -> list[str]:
    """Return what a run of a draft costs at most, and how it went in a simulation, as sentences."""
    facts = []
    if worst := draft.worst:
        least = worst.least_calls
        bounded = f'{least} to {figure(worst.calls)} model calls.'
        facts.append(f'{least} model calls or more.' if worst.calls is None else bounded)
        if worst.answers:
            facts.append(f'People are asked {count(round(worst.answers), "time")} at most.')
        elif worst.answers is None:
            facts.append('There is no bound on how often people are asked.')
    return [*facts, *([as_sentence(draft.tried)] if draft.tried else [])]


def rounds_title(drafts: Sequence[ChartDraft]) -> str:
    """Return how much was found, and in how many drafts: `Found: 3 problems in 2 drafts`."""
    problems = sum(len(draft.serious) for draft in drafts)
    wrong = sum(bool(draft.serious) for draft in drafts)
    return f'Found: {count(problems, "problem")} in {count(wrong, "draft")}' if wrong else 'Notes'


def read_chart(view: View, field: str, times: Times) -> Result:
    """Return the last draft of a chart, and whether it was saved."""
    drafts = read_leniently(list[ChartDraft], view.memory.get(field))
    if not drafts:
        return Result()
    saved, text = bool(view.memory.get('version')), drafts[-1].text
    headline = f'Saved as the chart {drafts[-1].chart}' if saved else ''
    return Result(headline=headline, main=(Prose(text=f'```yaml\n{text}```'),))
