"""The debate board: each debate as a table with its verdict, whose turn it is, the transcript."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from engine import View
from ui.elements import Conversation
from ui.panes.around import Around
from ui.panes.rounds import Rounds
from ui.panes.seat import Seats
from ui.parts import Text
from ui.presenters.contests import entrants, shown_to
from ui.presenters.debates import Turn, debates, listed, record, seats, speakers, transcript, turn_of
from ui.presenters.reading import clock, speaker
from ui.theme import empty


class Board:
    """All debates of a run at the step that is shown, drawn from its memory alone."""

    def __init__(self, around: Around, seek: Callable[[int], Awaitable[None]]) -> None:
        self._around, self._seek = around, seek
        self._shown: object = None
        self._tables: list[Rounds] = []
        with ui.element('div').classes('board'):
            self._seats = Seats(around)
            self._place = ui.element('div').classes('board-debates')
            words = ui.element('section').classes('board-words').props('aria-label="Words of the debate"')
            with words:
                Text('h2', 'Transcript')
                self._talk = Conversation([], label='Words of the debate', follow=False)
            self._words = words
            with ui.element('div') as self._none:
                empty('forum', 'Nobody has reviewed anything yet.')
                self._free = ui.element('div').classes('board-free')

    def show(self, view: View, *, live: bool, mine: bool) -> None:
        """Show the debates as they were at `view`."""
        shape, history = self._around.shape, self._around.history
        self._seats.show(view, live=live, mine=mine)
        turns = transcript(view, shape, history)
        name, by_person = turn_of(view, shape)
        going = record(view.memory.get('debate'))
        shown = (
            turns,
            name,
            by_person,
            listed(view.memory.get('consensuses')),
            dict(going),
            self._seats.shown,
        )
        if shown == self._shown:
            return
        self._shown = shown
        held = debates(turns, view, history)
        self._none.set_visibility(not held)
        self._place.set_visibility(bool(held))
        self._words.set_visibility(bool(turns))
        self._offer_seats(free=not held)
        rows, found = speakers(turns, shape), entrants(view, shape, history)
        for table in self._tables[len(held) :]:
            table.root.delete()
        del self._tables[len(held) :]
        with self._place:
            self._tables.extend(Rounds(self._seats, self._seek) for _ in held[len(self._tables) :])
        for table, one in zip(self._tables, held, strict=True):
            whose = (name, int(going.get('round') or 1), by_person) if one is held[-1] else ('', 0, False)
            table.show(one, rows, whose, shown_to(found, one.seq))
        self._talk.show([block(turn) for turn in turns])

    def _offer_seats(self, *, free: bool) -> None:
        """Before anybody has spoken, the seats can be taken as well."""
        self._free.clear()
        if free:
            with self._free:
                for name in seats(self._around.shape):
                    with ui.element('div').classes('board-seat'):
                        Text('b', speaker(name))
                        self._seats.control(name)


def block(turn: Turn) -> dict[str, Any]:
    """A turn as a block of a conversation: speaker, model, round, time and step, and the words."""
    said, problem = turn.said, turn.said.get('problem')
    where = [
        'a person' if said.get('human') else str(said.get('model') or ''),
        'drawn from the debate, not agreed' if said.get('synthesized') else '',
        f'round {said["round"]}' if said.get('round') and not said.get('synthesized') else '',
        clock(turn.time) if turn.time else '',
        f'step {turn.seq}' if turn.seq else '',
    ]
    return {
        'kind': 'human' if said.get('human') else 'event' if problem else 'text',
        'title': speaker(str(said.get('speaker', ''))),
        'note': ' · '.join(filter(None, where)),
        'text': f'Said nothing: {problem}' if problem else str(said.get('text', '')),
        'ok': not problem,
    }
