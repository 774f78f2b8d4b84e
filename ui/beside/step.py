"""One row of a comparison in full: what both runs did, which guards answered, and what was said."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nicegui import ui

from engine import Row, Transition, message_of
from ui.beside.elements import Pieces
from ui.beside.side import Side
from ui.beside.wording import Piece, pieces_of
from ui.parts import Text, link
from ui.presenters.blocks import readable
from ui.presenters.comparing import FACETS, KINDS
from ui.presenters.reading import Way, headline, place, short, ways
from ui.theme import empty, notice

LONGEST = 300


class StepPane:
    """Both steps of a row beside each other."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = sides
        self._turn = 0
        self._root = ui.element('div').classes('both')

    async def show(
        self, row: Row | None, steps: Sequence[Transition | None], held: Sequence[int], *, parting: bool
    ) -> None:
        """Show a row.

        Args:
            row: which.
            steps: what either run did there.
            held: the steps at which they stand.
            parting: whether it is the row in which they part.
        """
        self._turn += 1
        turn = self._turn
        texts = [text_of(step) if step else '' for step in steps]
        found = await pieces_of(*texts) if all(texts) else None
        if turn != self._turn or self._root.is_deleted:
            return
        self._root.clear()
        with self._root:
            if row is None:
                empty('footprint', 'Neither run has taken a step yet.')
                return
            self._say_kind(row, parting=parting)
            for place_of, side in enumerate(self._sides):
                step = steps[place_of]
                pieces = found[place_of] if found else [(True, texts[place_of])]
                with ui.element('section').classes('both-side').props(f'aria-label="Run {side.name}"'):
                    if step is None:
                        _absent(side, held[place_of], row)
                    else:
                        _describe(side, step, pieces)

    def _say_kind(self, row: Row, *, parting: bool) -> None:
        told = KINDS[row.kind] if not row.pending else f'{KINDS[row.kind]} so far'
        told = 'They part here' if parting else told
        facets = f': {", ".join(FACETS[facet] for facet in row.facets)}' if row.facets else ''
        region = f' · in {place(row.region)}' if row.region else ''
        Text('p', f'{told}{facets}{region}', f'both-kind {row.kind}', role='status')


def text_of(step: Transition) -> str:
    """What an agent said in a step."""
    data = step.event.data
    text = data.get('text')
    return as_text(text) if isinstance(text, str) and 'message' in data else ''


def as_text(text: str) -> str:
    """An answer as plain text, without the signs of Markdown that an answer in JSON is read with."""
    return readable(text).replace('**', '') if text.lstrip().startswith('{') else text


def _absent(side: Side, held: int, row: Row) -> None:
    _head(side, held)
    reason = 'It has not come to this yet.' if row.pending else 'It took no such step.'
    Text('p', f'{reason} It stands at step {held}.' if held else reason, 'muted')


def _head(side: Side, seq: int) -> None:
    with ui.element('div').classes('both-head'):
        Text('span', side.name, f'side-mark side-{side.name.lower()}')
        if seq:
            with link(f'/runs/{side.run}?at={seq}', 'both-link'):
                Text('span', f'Step {seq}')


def _describe(side: Side, step: Transition, pieces: Sequence[Piece]) -> None:
    _head(side, step.seq)
    Text('b', headline(step), 'step-title')
    if step.event.data.get('error'):
        with notice('fail', 'error_outline'):
            ui.label(short(str(step.event.data['error']), LONGEST))
    with ui.element('div').classes('moves'):
        for edge in step.edges:
            with ui.element('div').classes('move'):
                Text('span', place(edge.source), 'chip')
                ui.icon('arrow_forward').props('size="16px" aria-label="to"')
                Text('span', place(edge.dest) or 'stays', 'chip strong')
    for way in ways(step, side.tally.shape):
        if way.guards:
            _way(way)
    _calls(step)
    if any(text for _, text in pieces):
        Text('span', 'What was said', 'step-section')
        Pieces(pieces, side.name)


def _way(way: Way) -> None:
    with ui.element('div').classes(f'way {"taken" if way.taken else ""}'):
        ui.icon('check_circle' if way.taken else 'radio_button_unchecked').props('size="16px"')
        with ui.element('div'):
            Text('div', f'to {place(way.edge.dest) or "itself"}', 'way-dest')
            for guard in way.guards:
                kind = 'ok' if guard.value is guard.wanted else 'no'
                Text(
                    'div',
                    f'{guard.name.replace("_", " ")} = {str(guard.value).lower()}',
                    f'guard mono {kind}',
                )


def _calls(step: Transition) -> None:
    data = step.event.data
    said = []
    if isinstance(data.get('message'), dict):
        said = [f'{call.name} {short(call.arguments, LONGEST)}' for call in message_of(data['message']).calls]
    results = data.get('results')
    if isinstance(results, list):
        said += [short(json.dumps(result, ensure_ascii=False, default=str), LONGEST) for result in results]
    if said:
        Text('span', 'Tools', 'step-section')
        for line in said:
            Text('div', line, 'mono both-call', tabindex='0')
