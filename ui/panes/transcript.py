"""The transcript: who said what, in the order of the journal, up to the step that is shown."""

from __future__ import annotations

from nicegui import ui

from engine import Conductor, RunId, Shape, Transition
from ui.blocks import entry
from ui.calls import Block
from ui.elements import Conversation
from ui.theme import button, empty

REACH = 400
"""Steps that are read at once; earlier ones on demand."""


class Transcript:
    """Every speaker's words of a stretch of the run."""

    def __init__(self, conductor: Conductor, run: RunId, shape: Shape) -> None:
        self._conductor, self._run, self._shape = conductor, run, shape
        self._entries: dict[int, Block] = {}
        self._from = self._until = 0
        with ui.element('div').classes('transcript'):
            self._earlier = button('Show earlier', icon='expand_less', kind='quiet')
            self._earlier.on('click', self._read_earlier)
            self._talk = Conversation([], label='Transcript')
            with ui.element('div') as self._none:
                empty('forum', 'Nobody has said anything yet.')

    def add(self, steps: list[Transition]) -> None:
        """Take in steps that have just come."""
        if steps and steps[0].seq == self._until + 1:
            self._take(steps)

    async def show(self, at: int) -> None:
        """Show the transcript up to step `at`."""
        if at > self._until or at < self._from:
            start = max(0, at - REACH)
            if start > self._until or at < self._from:
                self._entries.clear()
                self._from = self._until = start
            self._take(await self._conductor.transitions(self._run, after=self._until, until=at))
        self._show(at)

    async def _read_earlier(self) -> None:
        start = max(0, self._from - REACH)
        steps = await self._conductor.transitions(self._run, after=start, until=self._from)
        self._from = start
        for step in steps:
            self._note(step)
        self._entries = dict(sorted(self._entries.items()))
        self._show(self._until)

    def _take(self, steps: list[Transition]) -> None:
        for step in steps:
            self._note(step)
            self._until = max(self._until, step.seq)

    def _note(self, step: Transition) -> None:
        block = entry(step, self._shape)
        if block:
            self._entries[step.seq] = {**block, 'step': step.seq}

    def _show(self, at: int) -> None:
        blocks = [block for seq, block in self._entries.items() if seq <= at]
        self._talk.show(blocks)
        self._earlier.set_visibility(self._from > 0)
        self._none.set_visibility(not blocks)
