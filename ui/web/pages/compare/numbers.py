"""Two runs in numbers: outcome, time, tokens, cost, loops, inputs and results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.history import Comparison, diff_words_async, json_differences
from ui.formatting.comparison import difference, measures
from ui.formatting.steps import path_text
from ui.web.components.elements import DiffText
from ui.web.components.widgets import Box, Text, table_head
from ui.web.pages.compare.data import difference_table
from ui.web.pages.compare.step import plain_answer


class Numbers:
    """Tables of the differences."""

    def __init__(self) -> None:
        self._root = Box('compare-numbers')
        self._load_number = 0

    async def show(self, comparison: Comparison) -> None:
        """Show the current numbers of both runs."""
        self._load_number += 1
        turn = self._load_number
        answers = [_answer_text(comparison.a.answer), _answer_text(comparison.b.answer)]
        pieces = await diff_words_async(*answers) if all(answers) else None
        if turn != self._load_number or self._root.is_deleted:
            return
        self._root.clear()
        with self._root:
            Text('h2', 'Outcome, time and cost')
            _measures(
                [(line.name, line.a, line.b, line.difference) for line in measures(comparison)], 'Measures'
            )
            _draw_counts('State entries', comparison.states, inner=False)
            _draw_counts('Tool calls', comparison.tools)
            for title, a, b in (
                ('Parameters', comparison.a.info.parameters, comparison.b.info.parameters),
                ('Models', comparison.a.models, comparison.b.models),
                ('Instructions', comparison.a.prompts, comparison.b.prompts),
                ('Options', comparison.a.info.options, comparison.b.info.options),
            ):
                differ = json_differences(a, b)
                Text('h2', title)
                difference_table(differ, title) if differ else Text('p', 'Identical in both runs.', 'muted')
            Text('h2', 'Results')
            with Box('compare-pair'):
                for side, text, several in zip('AB', answers, pieces or [None, None], strict=True):
                    with Box('compare-pair-side'):
                        Text('span', side, f'side-mark side-{side.lower()}')
                        if text:
                            DiffText(several or [(True, text)], side)
                        else:
                            Text('p', 'No answer.', 'muted')


def _draw_counts(title: str, counts: Mapping[str, tuple[int, int]], *, inner: bool = True) -> None:
    """Draw the counts that differ; without `inner`, leave out states inside agents."""
    differ = [
        (path_text(name), f'{a:,}', f'{b:,}', difference(a, b))
        for name, (a, b) in counts.items()
        if a != b and (inner or '.' not in name)
    ]
    Text('h2', title)
    _measures(differ, title) if differ else Text('p', 'Equal in both runs.', 'muted')


def _measures(rows: list[tuple[str, str, str, str]], caption: str) -> None:
    with Box('table compared numbers measures', 'table'):
        Text('caption', caption, 'visually-hidden')
        table_head(('', 'A', 'B', 'Difference'))
        with Box(tag='tbody'):
            for name, a, b, differs in rows:
                with Box('' if differs else 'equal', 'tr'):
                    Text('th', name, scope='row')
                    Text('td', a, 'num')
                    Text('td', b, 'num')
                    Text('td', differs or 'the same', 'num' if differs else 'muted')


def _answer_text(answer: Any) -> str:
    if isinstance(answer, str):
        return plain_answer(answer)
    return '' if answer is None else json.dumps(answer, indent=1, ensure_ascii=False, default=str)
