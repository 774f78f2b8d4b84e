"""The transcript: who said what, in journal order, up to the step that is shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from typing_extensions import override

from engine import EngineError, Transition
from ui.formatting.tool_calls import Block
from ui.web.components.debounce import create_page_task
from ui.web.components.elements import TranscriptList
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box
from ui.web.pages.run.pane import Moment, Panel, RunPage
from ui.web.replay.conversation import transcript_entry

STEPS_PER_READ = 400
"""Number of steps per read."""
MAX_LOADED = 5_000
"""Maximum number of messages loaded unasked; earlier ones are loaded on demand."""


class Transcript(Panel):
    """The messages of part of the run; nothing is loaded or sent until the tab is visible."""

    title = 'Transcript'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        context = page.context
        self._conductor, self._run, self._shape = context.conductor, context.run, context.shape
        self._steps: list[int] = []
        """The steps that the messages in the page belong to, in order."""
        self._from = self._until = self._at = 0
        self._open = self._busy = False
        with Box('transcript'):
            self._earlier = button('Show earlier', icon='expand_less', kind='quiet')
            self._earlier.on('click', lambda: self._load_earlier(MAX_LOADED))
            self._messages = TranscriptList(label='Transcript')
            with Box() as self._none:
                empty_state('forum', 'No messages yet.')
        self._earlier.set_visibility(False)
        self._messages.set_visibility(False)

    @override
    def open(self, opened: bool) -> None:
        self._open = opened
        create_page_task(self._messages, self._show_until(self._at), 'show a transcript')

    @override
    def add_steps(self, steps: Sequence[Transition]) -> None:
        """Append the blocks of new steps, if the tab is open; otherwise they are drawn when it opens."""
        if self._open:
            self._append(steps)

    @override
    async def complete(self, moment: Moment) -> None:
        await self._show_until(moment.view.seq)

    async def _show_until(self, at: int) -> None:
        self._at = at
        if not self._open:
            return
        if at > self._until or at < self._from:
            start = max(0, at - STEPS_PER_READ)
            if start > self._until or at < self._from:
                self._steps.clear()
                self._messages.remove_all()
                self._from = self._until = start
            self._append(await self._conductor.transitions(self._run, after=self._until, until=at))
        more = self._from > 0 and len(self._steps) < MAX_LOADED and not self._busy
        self._update(more=more)
        if more:
            create_page_task(
                self._messages, self._load_earlier(MAX_LOADED - len(self._steps)), 'read a transcript'
            )

    async def _load_earlier(self, most: int) -> None:
        """Load earlier steps in batches, up to about `most` messages."""
        if self._busy:
            return
        self._busy, total = True, len(self._steps) + most
        self._update()
        try:
            while self._from and len(self._steps) < total and not self._messages.is_deleted:
                end = self._from
                start = max(0, end - STEPS_PER_READ)
                steps = await self._conductor.transitions(self._run, after=start, until=end)
                if end != self._from:
                    continue  # the page has moved to another range meanwhile
                blocks = self._blocks(steps)
                self._from = start
                self._steps[:0] = [block['step'] for block in blocks]
                self._messages.add(blocks, before=True)
        except EngineError:
            return  # deleted, which the page reports; or temporarily unreadable, and retried
        finally:
            self._busy = False
            if not self._messages.is_deleted:
                self._update()

    def _append(self, steps: Sequence[Transition]) -> None:
        """Append new steps, but only if they directly follow those already loaded."""
        fresh = [step for step in steps if step.seq > self._until]
        if fresh and fresh[0].seq == self._until + 1:
            blocks = self._blocks(fresh)
            self._until = fresh[-1].seq
            self._steps.extend(block['step'] for block in blocks)
            self._messages.add(blocks)

    def _blocks(self, steps: Sequence[Transition]) -> list[Block]:
        entries = ((step.seq, transcript_entry(step, self._shape)) for step in steps)
        return [{**block, 'step': seq} for seq, block in entries if block]

    def _update(self, *, more: bool = False) -> None:
        there, busy = bisect_right(self._steps, self._at) > 0, self._busy or more
        self._messages.show(self._at, busy=busy)
        self._messages.set_visibility(there)
        self._none.set_visibility(not there and not busy)
        self._earlier.set_visibility(self._from > 0 and not busy)
