"""One row of a comparison in full: both steps with their guards, tool calls and output."""

from __future__ import annotations

from collections.abc import Sequence

from engine import Transition
from engine.history import Piece, Row, diff_words_async
from engine.records import calls_of, reply_of, results_of
from ui.formatting.comparison import FACETS, KINDS
from ui.formatting.plain_text import plain_markdown
from ui.formatting.sentences import step_sentence
from ui.formatting.steps import edge_outcomes, path_text
from ui.formatting.tool_calls import call_line, result_line
from ui.web.components.elements import DiffText
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.compare.side import Side
from ui.web.pages.shared.run.transition_reasons import draw_reasons
from ui.web.replay.conversation import json_to_markdown

MAX_TEXT = 300


class StepPane:
    """Both steps of a row, side by side."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = sides
        self._load_number = 0
        self._root = Box('compare-step')

    async def show(
        self, row: Row | None, steps: Sequence[Transition | None], positions: Sequence[int], *, parting: bool
    ) -> None:
        """Show a row.

        Args:
            row: the row; None if there is none yet.
            steps: the step of each run, if it took one.
            positions: the step that each run has reached.
            parting: whether the runs diverge at this row.
        """
        self._load_number += 1
        turn = self._load_number
        texts = [agent_text(step) if step else '' for step in steps]
        differing = await diff_words_async(*texts) if all(texts) else None
        if turn != self._load_number or self._root.is_deleted:
            return
        self._root.clear()
        with self._root:
            if row is None:
                empty_state('hourglass_empty', 'No steps yet.')
                return
            self._draw_kind(row, parting=parting)
            for place_of, side in enumerate(self._sides):
                step = steps[place_of]
                pieces = differing[place_of] if differing else [(True, texts[place_of])]
                with Box('compare-step-side', 'section', aria_label=f'Run {side.name}'):
                    if step is None:
                        _draw_absent(side, positions[place_of], row)
                    else:
                        _draw_description(side, step, pieces)

    def _draw_kind(self, row: Row, *, parting: bool) -> None:
        title = KINDS[row.kind] if not row.pending else f'{KINDS[row.kind]} so far'
        title = 'The runs diverge here' if parting else title
        facets = ', '.join(FACETS[facet] for facet in row.facets)
        if facets:
            title = facets.capitalize() if title == KINDS['apart'] else f'{title}: {facets}'
        region = f' · in {path_text(row.region)}' if row.region else ''
        Text('p', f'{title}{region}', f'compare-step-kind {row.kind}', role='status')


def agent_text(step: Transition) -> str:
    """Return the agent's reply in a step; '' if it is not one."""
    reply = reply_of(step.event)
    return plain_answer(str(reply.get('text') or '')) if reply else ''


def plain_answer(text: str) -> str:
    """Return an answer as plain text, so that Markdown and JSON syntax is not compared."""
    return plain_markdown(json_to_markdown(text) if text.lstrip().startswith('{') else text)


def _draw_absent(side: Side, position: int, row: Row) -> None:
    _draw_head(side, position)
    reason = 'It has not reached this row yet.' if row.pending else 'It did not take this step.'
    Text('p', f'{reason} It is at step {position}.' if position else reason, 'muted')


def _draw_head(side: Side, seq: int) -> None:
    with Box('compare-side-head'):
        Text('span', side.name, f'side-mark side-{side.name.lower()}')
        if seq:
            text_link(f'/runs/{side.run}?at={seq}', f'Step {seq}', 'compare-step-link')


def _draw_description(side: Side, step: Transition, pieces: Sequence[Piece]) -> None:
    _draw_head(side, step.seq)
    Text('b', step_sentence(step, side.stats.shape), 'step-title')
    draw_reasons(edge_outcomes(step, side.stats.shape), side.reasons)
    lines = call_lines(step)
    if lines:
        Text('span', 'Tools', 'step-section')
    draw_calls(lines)
    if any(text for _, text in pieces):
        Text('span', 'Output', 'step-section')
        DiffText(pieces, side.name)


def call_lines(step: Transition) -> list[str]:
    """Return the tool calls of a reply, or the results of a batch, one per line."""
    calls = [f'{call["name"]}: {call_line(call["arguments"], MAX_TEXT)}' for call in calls_of(step.event)]
    return [
        *calls,
        *(f'{result["name"]} → {result_line(result, MAX_TEXT)}' for result in results_of(step.event)),
    ]


def draw_calls(lines: Sequence[str]) -> None:
    """Draw tool calls; each is focusable so that it can be scrolled with the keyboard."""
    for line in lines:
        Text('div', line, 'mono compare-call', tabindex='0')
