"""One debate as a growing table: rounds as columns, reviewers as rows, agreement on top."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui

from ui.panes.seat import Seats
from ui.panes.turns import agreement, draw
from ui.panes.verdict import stance, verdict
from ui.parts import Text, attach
from ui.presenters.contests import Made
from ui.presenters.debates import Held, Turn
from ui.presenters.reading import speaker
from ui.theme import button

PHASES = {'debate': 'Debate', 'final': 'Final review', '': 'Reviews'}


HEAD = '\n'
"""The row of titles, among names of rows."""


class Rounds:
    """What is drawn of a debate stays as it is while more is said: opened words, scrolling, the focus."""

    def __init__(self, seats: Seats, seek: Callable[[int], Awaitable[None]]) -> None:
        self._seats, self._seek = seats, seek
        self._rows: list[str] = []
        self._columns: list[int] = []
        self._drawn: dict[tuple[str, int], object] = {}
        """What was drawn last in each cell: by row and round, with -1 for the head of a row."""
        self._cells: dict[tuple[str, int], ui.element] = {}
        self._ended: object = None
        with ui.element('section').classes('debate') as self.root:
            with ui.element('div').classes('verdict-head') as self._head:
                self._title = Text('h2', '')
                self._short = ui.element('span').classes('verdict-head')
            attach(self.root, aria_labelledby=self._title.html_id)
            scroll = ui.element('div').classes('debate-scroll').props('tabindex="0" role="group"')
            attach(scroll, aria_label='Rounds and reviewers')
            with scroll:
                self._table = ui.element('table').classes('rounds')
            self._end = ui.element('div')

    def show(
        self, held: Held, rows: Sequence[str], whose: tuple[str, int, bool], shown: Sequence[tuple[str, Made]]
    ) -> None:
        """Show a debate.

        Args:
            held: the debate.
            rows: who has a row.
            whose: who has the word, in which round, and whether it is a person; '' is nobody.
            shown: the versions that the reviewers had before them, with their tests.
        """
        numbers = [one.number for one in held.rounds]
        running = [whose[1]] if whose[0] and whose[1] not in numbers else []
        self._title.show(PHASES.get(held.phase, 'Debate'))
        self._lay_out(list(rows), [*numbers, *running])
        by_round = {one.number: one for one in held.rounds}
        for name in rows:
            spoken = [turn for one in held.rounds for turn in one.turns.get(name, ())]
            models = tuple(
                dict.fromkeys(str(turn.said['model']) for turn in spoken if turn.said.get('model'))
            )
            self._fill(name, -1, (models, self._seats.shown), partial(self._name, name, models))
            for number in self._columns:
                turns = by_round[number].turns.get(name, ()) if number in by_round else ()
                now = whose[0] == name and whose[1] == number
                by = whose[2] if now else None
                cell = self._fill(name, number, (turns, by), partial(self._said, turns, by))
                cell.classes(add='now' if now else '', remove='' if now else 'now')
        for number in self._columns:
            found = by_round[number].accord if number in by_round else None
            self._fill('', number, (found,), partial(agreement, found))
        self._show_end(held, shown)

    def _lay_out(self, rows: list[str], columns: list[int]) -> None:
        """Make the rows; take away the columns behind the last that stays, and make those that are new."""
        same = [one for one, other in zip(columns, self._columns, strict=False) if one == other]
        if rows != self._rows or same != columns[: len(same)]:
            self._rows, self._columns, same = rows, [], []
            self._cells, self._drawn = {}, {}
            self._table.clear()
            with self._table:
                with ui.element('thead'), ui.element('tr') as self._heads:
                    Text('th', 'Reviewer', scope='col')
                with ui.element('tbody'):
                    with ui.element('tr').classes('accords') as agreement:
                        Text('th', 'Agreement', scope='row')
                    self._lines = {'': agreement}
                    for name in rows:
                        with ui.element('tr') as self._lines[name]:
                            self._cells[name, -1] = ui.element('th').props('scope="row"')
        for place in [place for place in self._cells if place[1] in self._columns[len(same) :]]:
            self._cells.pop(place).delete()
            self._drawn.pop(place, None)
        for number in columns[len(same) :]:
            with self._heads:
                title = f'Round {number}' if number else 'First review'
                self._cells[HEAD, number] = Text('th', title, scope='col')
            for name, line in self._lines.items():
                with line:
                    self._cells[name, number] = ui.element('td')
        self._columns = columns

    def _fill(self, name: str, number: int, what: object, draw: Callable[[], None]) -> ui.element:
        cell = self._cells[name, number]
        if self._drawn.get((name, number)) != what:
            self._drawn[name, number] = what
            cell.clear()
            with cell:
                draw()
        return cell

    def _name(self, name: str, models: Sequence[str]) -> None:
        Text('span', speaker(name), 'row-name')
        if models:
            Text('span', ', '.join(models), 'muted small')
        self._seats.control(name)

    def _said(self, turns: Sequence[Turn], by_person: bool | None) -> None:
        for turn in turns:
            draw(turn, self._link)
        if by_person is not None:
            with ui.element('p').classes('board-now'):
                ui.icon('front_hand' if by_person else 'more_horiz').props('size="18px" aria-hidden="true"')
                Text('span', 'A person has the word' if by_person else 'Has the word')

    def _show_end(self, held: Held, shown: Sequence[tuple[str, Made]]) -> None:
        ended = (held.consensus, held.seq, shown)
        if ended == self._ended:
            return
        self._ended = ended
        self._end.clear()
        self._short.clear()
        if held.consensus:
            with self._short:
                stance(held.consensus)
                way = f'agreed in round {held.consensus.get("round")}'
                Text('span', 'synthesized' if held.consensus.get('synthesized') else way, 'muted small')
            with self._end:
                verdict(held.consensus, shown, lambda: self._link(held.seq))

    def _link(self, seq: int) -> None:
        if seq:
            button(f'Step {seq}', kind='quiet small num').on('click', lambda: self._seek(seq))
