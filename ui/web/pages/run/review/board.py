"""The debate board: each debate as a table with its verdict, whose turn it is, and a transcript."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from engine.records import View
from ui.formatting.steps import role_title, time_of_day
from ui.web.components.elements import Conversation
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, Text
from ui.web.pages.run.pane import Moment, Panel, RunPage
from ui.web.pages.run.review.contest import contestants, versions_at
from ui.web.pages.run.review.debates import (
    REVIEWER,
    Turn,
    current_turn,
    debate_turns,
    debates,
    is_debating,
    read_consensuses,
    read_debate,
    seats_for,
    speakers,
)
from ui.web.pages.run.review.points import link_points
from ui.web.pages.run.review.rounds import DebateTable
from ui.web.pages.run.review.seat import Seats


class Board(Panel):
    """All debates of a run at the step that is shown, read from memory alone."""

    title = 'Debate'
    panel = 'debate'
    inputs = frozenset({'take_seat', 'say', 'hand_back'})

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._shown: object = None
        self._tables: list[DebateTable] = []
        with Box('board'):
            self._seats = Seats(page.context)
            self._place = Box('board-debates')
            words = Box('board-transcript', 'section', aria_label='Transcript of the debate')
            with words:
                Text('h2', 'Transcript')
                self._conversation = Conversation([], label='Debate transcript', follow=False)
            self._transcript = words
            with Box() as self._none:
                empty_state('forum', 'No reviews yet.')
                self._free_seats = Box('board-free-seats')

    def pending_action(self, view: View) -> str:
        """Return a note while it is a person's turn to speak."""
        return 'your turn' if current_turn(view, self.context.shape)[1] else ''

    def relevance(self, view: View) -> int:
        """Return 1 while a debate is in progress."""
        return int(is_debating(view, self.context.shape))

    @override
    def show(self, moment: Moment) -> None:
        view = moment.view
        shape, history = self.context.shape, self.context.history
        self._seats.show(moment)
        turns = debate_turns(view, shape, history)
        name, by_person = current_turn(view, shape)
        going = read_debate(view)
        content = (turns, name, by_person, read_consensuses(view), going, self._seats.button_state)
        if content == self._shown:
            return
        self._shown = content
        all_debates = debates(turns, view, history)
        self._none.set_visibility(not all_debates)
        self._place.set_visibility(bool(all_debates))
        self._transcript.set_visibility(bool(turns))
        self._offer_seats(free=not all_debates)
        points = link_points(turns)
        rows, candidates = speakers(turns, shape), contestants(view, shape, history)
        for table in self._tables[len(all_debates) :]:
            table.root.delete()
        del self._tables[len(all_debates) :]
        with self._place:
            self._tables.extend(
                DebateTable(self._seats, self.page.seek) for _ in all_debates[len(self._tables) :]
            )
        for table, debate in zip(self._tables, all_debates, strict=True):
            whose = (name, going.round or 1, by_person) if debate is all_debates[-1] else ('', 0, False)
            table.show(debate, rows, whose, versions_at(candidates, debate.seq), points)
        self._conversation.show([turn_block(turn) for turn in turns])

    def _offer_seats(self, *, free: bool) -> None:
        """Offer the seats outside a table as well, before anybody has spoken."""
        self._free_seats.clear()
        if free:
            with self._free_seats:
                for name in seats_for(self.context.shape, REVIEWER):
                    with Box('board-seat'):
                        Text('b', role_title(name))
                        self._seats.draw_control(name)


def turn_block(turn: Turn) -> dict[str, Any]:
    """Return a turn as a block of a conversation: speaker, model, round, time, step and text."""
    utterance = turn.utterance
    where = [
        'a person' if utterance.human else utterance.model,
        'synthesized, not agreed' if utterance.synthesized else '',
        f'round {utterance.round}' if utterance.round and not utterance.synthesized else '',
        time_of_day(turn.time) if turn.time else '',
        f'step {turn.seq}' if turn.seq else '',
    ]
    return {
        'kind': 'human' if utterance.human else 'event' if utterance.problem else 'text',
        'title': role_title(utterance.speaker),
        'note': ' · '.join(filter(None, where)),
        'text': f'No reply: {utterance.problem}' if utterance.problem else utterance.text,
        'ok': not utterance.problem,
    }
