"""One debate as a table: a column per round, a row per reviewer, agreement on top."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui

from engine.patterns import LineComment, Position, Version
from ui.formatting.steps import role_title
from ui.formatting.values import count
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, set_class
from ui.web.pages.run.review.debates import Agreement, HeldDebate, Turn
from ui.web.pages.run.review.points import STANCES, Points, Reply
from ui.web.pages.run.review.seat import Seats
from ui.web.pages.run.review.verdict import draw_stance, draw_verdict

PHASES = {'debate': 'Debate', 'final': 'Final review', '': 'Reviews'}


HEADER_ROW = '\n'
"""The key of the header row."""


class DebateTable:
    """The table of one debate, updated in place to keep open texts, scrolling and focus."""

    def __init__(self, seats: Seats, seek: Callable[[int], Awaitable[None]]) -> None:
        self._seats, self._seek = seats, seek
        self._rows: list[str] = []
        self._columns: list[int] = []
        self._drawn: dict[tuple[str, int], object] = {}
        """The content of each cell, by row and round; round -1 is the header of a row."""
        self._cells: dict[tuple[str, int], ui.element] = {}
        self._ended: object = None
        with Box('debate', 'section') as self.root:
            with Box('verdict-head'):
                self._title = Text('h2', '')
                self._short = Box('verdict-head', 'span')
            set_attributes(self.root, aria_labelledby=self._title.html_id)
            scroll = Box('debate-scroll', tabindex='0', role='group', aria_label='Rounds and reviewers')
            with scroll:
                self._table = Box('rounds', 'table')
            self._end = Box()

    def show(
        self,
        debate: HeldDebate,
        rows: Sequence[str],
        speaker: tuple[str, int, bool],
        versions: Sequence[tuple[str, Version]],
        points: Points,
    ) -> None:
        """Show a debate.

        Args:
            debate: the debate.
            rows: the speakers that have a row.
            speaker: who is speaking, in which round, and whether it is a person; '' is nobody.
            versions: the versions under review, with their tests.
            points: the points and answers of all debates.
        """
        numbers = [round_.number for round_ in debate.rounds]
        running = [speaker[1]] if speaker[0] and speaker[1] not in numbers else []
        self._title.show(PHASES.get(debate.phase, 'Debate'))
        self._lay_out(list(rows), [*numbers, *running])
        by_round = {round_.number: round_ for round_ in debate.rounds}
        for name in rows:
            spoken = [turn for round_ in debate.rounds for turn in round_.turns.get(name, ())]
            models = tuple(dict.fromkeys(filter(None, (turn.utterance.model for turn in spoken))))
            self._draw_cell(
                name, -1, (models, self._seats.button_state), partial(self._draw_name, name, models)
            )
            for number in self._columns:
                turns = by_round[number].turns.get(name, ()) if number in by_round else ()
                now = speaker[0] == name and speaker[1] == number
                by = speaker[2] if now else None
                about = tuple(points.related_replies(turn) for turn in turns)
                draw = partial(self._draw_turns, turns, by, points)
                cell = self._draw_cell(name, number, (turns, by, about), draw)
                set_class(cell, 'now', on=now)
        for number in self._columns:
            agreement = by_round[number].agreement if number in by_round else None
            self._draw_cell('', number, (agreement,), partial(draw_agreement, agreement))
        self._show_end(debate, versions)

    def _lay_out(self, rows: list[str], columns: list[int]) -> None:
        """Make the rows; remove columns that no longer apply, and add new ones."""
        same = [column for column, other in zip(columns, self._columns, strict=False) if column == other]
        if rows != self._rows or same != columns[: len(same)]:
            self._rows, self._columns, same = rows, [], []
            self._cells, self._drawn = {}, {}
            self._table.clear()
            with self._table:
                with Box(tag='thead'), Box(tag='tr') as self._heads:
                    Text('th', 'Reviewer', scope='col')
                with Box(tag='tbody'):
                    with Box('agreement-row', 'tr') as agreement:
                        Text('th', 'Agreement', scope='row')
                    self._lines = {'': agreement}
                    for name in rows:
                        with Box(tag='tr') as self._lines[name]:
                            self._cells[name, -1] = Box(tag='th', scope='row')
        for place in [place for place in self._cells if place[1] in self._columns[len(same) :]]:
            self._cells.pop(place).delete()
            self._drawn.pop(place, None)
        for number in columns[len(same) :]:
            with self._heads:
                title = f'Round {number}' if number else 'First review'
                self._cells[HEADER_ROW, number] = Text('th', title, scope='col')
            for name, line in self._lines.items():
                with line:
                    self._cells[name, number] = Box(tag='td')
        self._columns = columns

    def _draw_cell(self, name: str, number: int, what: object, draw: Callable[[], None]) -> ui.element:
        cell = self._cells[name, number]
        if self._drawn.get((name, number)) != what:
            self._drawn[name, number] = what
            cell.clear()
            with cell:
                draw()
        return cell

    def _draw_name(self, name: str, models: Sequence[str]) -> None:
        Text('span', role_title(name), 'row-name')
        if models:
            Text('span', ', '.join(models), 'muted small')
        self._seats.draw_control(name)

    def _draw_turns(self, turns: Sequence[Turn], by_person: bool | None, points: Points) -> None:
        for turn in turns:
            draw_turn(turn, self._draw_link, points)
        if by_person is not None:
            with Box('board-speaker', 'p'):
                ui.icon('front_hand' if by_person else 'more_horiz', size='18px')
                Text('span', 'A person is speaking' if by_person else 'Speaking')

    def _show_end(self, debate: HeldDebate, versions: Sequence[tuple[str, Version]]) -> None:
        ended = (debate.consensus, debate.seq, versions)
        if ended == self._ended:
            return
        self._ended = ended
        self._end.clear()
        self._short.clear()
        if consensus := debate.consensus:
            with self._short:
                draw_stance(consensus)
                agreement = (
                    f'agreed in round {consensus.round}' if len(consensus.by) > 1 else 'the only reviewer'
                )
                Text('span', 'synthesized' if consensus.synthesized else agreement, 'muted small')
            with self._end:
                draw_verdict(consensus, versions, lambda: self._draw_link(debate.seq))

    def _draw_link(self, seq: int) -> None:
        if seq:
            button(f'Step {seq}', kind='quiet small num').on('click', lambda: self._seek(seq))


TRENDS = {
    'agreed': ('handshake', 'Agreed'),
    'closer': ('trending_up', 'Closer'),
    'same': ('trending_flat', 'No closer'),
    'apart': ('trending_down', 'Further apart'),
    '': ('compare_arrows', 'Start'),
}
"""An icon and words for each trend."""
NO_POSITION = Position(text='', verdict='UNDECIDED')
"""Stands in for a missing position: nothing is conceded, insisted on or requested."""
UNFOLD = """(event) => {
  const button = event.currentTarget, open = button.closest('td').classList.toggle('whole');
  button.setAttribute('aria-expanded', open);
  button.lastElementChild.textContent = open ? 'Less' : 'More';
}"""


def draw_turn(turn: Turn, link: Callable[[int], None], points: Points) -> None:
    """Draw one turn: position, text, points and answers; `link` draws a link to a step."""
    utterance, position = turn.utterance, turn.utterance.position or NO_POSITION
    with Box('turn human' if utterance.human else 'turn'):
        with Box('turn-head'):
            if utterance.human:
                _draw_chip('person', 'A person', 'strong person')
            if utterance.position:
                draw_stance(position)
            if position.agrees:
                _draw_chip('check', 'Agrees', 'agrees')
        if utterance.problem:
            Text('p', f'No reply: {utterance.problem}', 'turn-problem')
            return
        Text('p', utterance.text, 'turn-text')
        _draw_points('concedes', position.concedes, 'undo', 'Concedes')
        ids = [name for name, _ in utterance.points]
        first = len(position.insists)
        _draw_points('insists', position.insists, 'push_pin', 'Insists', ids[:first], points)
        _draw_answers(points.replies_in(turn))
        with Box('turn-more'):
            _draw_points('changes', position.changes, 'build', 'Requests', ids[first:], points)
            _draw_points('rests_on', position.rests_on, 'fact_check', 'Evidence')
            _draw_comments(position.comments)
        with Box('turn-foot'):
            more = button('More', icon='unfold_more', kind='quiet small', aria_expanded='false')
            more.on('click', js_handler=UNFOLD)
            link(turn.seq)


def _draw_chip(icon: str, text: str, kind: str) -> None:
    with Box(f'chip {kind}', 'span'):
        ui.icon(icon, size='15px')
        ui.label(text)


def _draw_points(  # noqa: PLR0913  (the last two go together)
    kind: str,
    points: Sequence[str],
    icon: str,
    word: str,
    ids: Sequence[str] = (),
    links: Points | None = None,
) -> None:
    if not points:
        return
    with Box(f'points {kind}'):
        ui.icon(icon, size='15px')
        with Box():
            Text('b', word)
            with Box(tag='ul'):
                for number, point in enumerate(points):
                    with Text('li', point):
                        if links and number < len(ids):
                            _draw_replies(ids[number], links)


def _draw_replies(point: str, links: Points) -> None:
    """Draw who has answered the point and how, or that nobody has."""
    for reply in links.replies.get(point, ()):
        icon, words = STANCES.get(reply.stance, ('reply', 'Answered by'))
        with Box(f'point-reply {reply.stance}'):
            ui.icon(icon, size='14px')
            why = f': {reply.why}' if reply.why else ''
            Text('span', f'{words} {role_title(reply.speaker)}{why}')
    if point in links.open:
        with Box('point-reply open'):
            ui.icon('help_outline', size='14px')
            Text('span', 'Unanswered')


def _draw_answers(replies: Sequence[Reply]) -> None:
    """Draw the speaker's answers to points of others."""
    lines = []
    for reply in replies:
        verb = 'Accepts' if reply.stance == 'accepts' else 'Rebuts'
        point = f'{role_title(reply.whose)}: “{reply.point}”' if reply.whose else reply.to
        lines.append(f'{verb} {point}' + (f': {reply.why}' if reply.why else ''))
    _draw_points('answers', lines, 'forum', 'Answers')


def _draw_comments(comments: Sequence[LineComment]) -> None:
    lines = [
        f'{comment.candidate}: {comment.path}, line {comment.line}: {comment.text}' for comment in comments
    ]
    _draw_points('comments', lines, 'comment', 'Comments')


def draw_agreement(agreement: Agreement | None) -> None:
    """Draw the agreement as a bar, an icon and words, with its trend."""
    if agreement is None:
        Text('span', 'unknown yet', 'muted small')
        return
    icon, word = TRENDS[agreement.trend]
    with Box(f'agreement {agreement.trend or "first"}'):
        with Box('agreement-head'):
            ui.icon(icon, size='18px')
            Text('b', word)
            with Box('agreement-bar', aria_hidden='true'):
                Box().style(f'width: {agreement.share:.0%}')
        facts = [
            'same verdict' if agreement.verdict else 'different verdicts',
            'same best' if agreement.best else 'different best',
            '' if agreement.ranked is None else f'{agreement.ranked:.0%} same ranking',
            f'{count(agreement.conceded, "point")} conceded' if agreement.conceded else '',
        ]
        Text('span', ' · '.join(filter(None, facts)), 'muted small')
