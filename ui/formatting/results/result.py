"""The result of a run: read from its memory by the kind that its pattern asks for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from engine.records import Shape, View
from ui.formatting.results.blocks import Prose, Result
from ui.formatting.results.contests import Times, read_podium, read_review, read_ruling, read_tally
from ui.formatting.results.drafts import read_chart
from ui.formatting.results.single_agents import read_findings, read_patch, read_piece
from ui.formatting.results.teams import read_revisions, read_session, read_shares

PANEL = 'result'
"""Its name in `Shape.panels`; the part is the kind."""
KINDS: dict[str, Callable[[View, str, Times], Result]] = {
    'tally': read_tally,
    'ruling': read_ruling,
    'podium': read_podium,
    'review': read_review,
    'revisions': read_revisions,
    'shares': read_shares,
    'session': read_session,
    'piece': read_piece,
    'patch': read_patch,
    'findings': read_findings,
    'chart': read_chart,
}
"""Reads each kind of result: from a run's memory, the field that the pattern names, and times."""


def _no_times(field: str) -> Sequence[float]:
    return ()


def read_result(shape: Shape, view: View, times: Times = _no_times) -> Result:
    """Return the result of a run, even one that failed; without blocks if there is nothing to show."""
    for item in shape.panels:
        if item.panel == PANEL and item.part in KINDS:
            return KINDS[item.part](view, item.field, times)
    answer = view.memory.get(shape.answer) if shape.answer else None
    text = answer if isinstance(answer, str) else json.dumps(answer) if answer else ''
    return Result(main=(Prose(text=text),) if text else ())
