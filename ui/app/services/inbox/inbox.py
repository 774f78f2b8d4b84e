"""Inbox: lists the open questions of all runs, answers each once, assigns and snoozes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from engine import InvalidInput, LocalConductor
from engine.errors import EngineError, EntryChanged, EventRefused, JournalDamaged, StepPassed, UnknownRun
from engine.journal import Entry, EntryQuery
from engine.records import Instant, RunId, RunInfo
from engine.runtime import ACTOR
from ui.app.services.inbox.questions import Ask, find_asks, run_and_step

KIND = 'question'
"""The kind of the entries with people's decisions about questions."""
MAX_ATTEMPTS = 100
"""Maximum attempts to answer while other regions of the run take steps."""
MAX_NAME = 200
RETENTION = 30 * 86_400.0
"""Seconds for which decisions about questions are stored."""


class QuestionClosed(EventRefused):
    """The question is no longer open, or differs from the one that was shown; nothing was changed."""


class UnknownQuestion(EngineError):
    """No run has asked this question."""

    def __init__(self, ask: str) -> None:
        super().__init__(f'there is no question {ask!r}')


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """A question with its run and people's decisions about it."""

    ask: Ask
    title: str
    pattern: str
    version: str = ''
    tags: tuple[str, ...] = ()
    here: bool = True
    """Whether this server runs it, so that it can be answered here."""
    assignee: str = ''
    snoozed_until: Instant = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """Open questions, oldest first."""

    items: tuple[InboxItem, ...]
    snoozed: int = 0
    """The number of questions left out because they are snoozed."""


class Inbox:
    """The open questions of the runs in a conductor's journal."""

    def __init__(
        self,
        conductor: LocalConductor,
        can_see: Callable[[RunInfo], bool] = lambda info: True,
        notify: Callable[[InboxItem], Awaitable[None]] | None = None,
    ) -> None:
        """Create it.

        Args:
            conductor: the conductor of the runs.
            can_see: decides which runs' questions are shown.
            notify: tells a person of a question that was assigned to them.
        """
        self._conductor, self._can_see, self._notify = conductor, can_see, notify
        self._asks_by_run: dict[tuple[RunId, int], Sequence[Ask]] = {}
        """The open questions of unfinished runs, by run and last step."""

    async def list(self, *, assignee: str = '', run: str = '', snoozed: bool = False) -> InboxPage:
        """Return all open questions, oldest first.

        Args:
            assignee: only those assigned to this person.
            run: only those of this run.
            snoozed: whether snoozed questions are listed, too.
        """
        decided = {
            entry.key: entry for entry in await self._conductor.journal.documents.find(EntryQuery(kind=KIND))
        }
        items, asks_by_run = [], {}
        for info in await self._conductor.journal.unfinished():
            if not info.waiting or (run and info.id != run) or not self._can_see(info):
                continue
            key = (info.id, info.seq)
            asks = self._asks_by_run[key] if key in self._asks_by_run else await self._find_asks(info.id)
            asks_by_run[key] = asks
            items += [self._item(info, ask, decided.get(ask.id)) for ask in asks]
        if not run:
            self._asks_by_run = asks_by_run
        items = [item for item in items if not assignee or item.assignee == assignee]
        now = self._conductor.clock.now()
        visible = [item for item in items if snoozed or item.snoozed_until <= now]
        visible.sort(key=lambda item: (item.ask.since, item.ask.id))
        return InboxPage(items=tuple(visible), snoozed=len(items) - len(visible))

    async def find(self, ask: str) -> InboxItem:
        """Return an open question.

        Raises:
            UnknownQuestion
            QuestionClosed: it was answered, or the run has moved on; the error says when and how.
        """
        item, _ = await self._find(ask)
        return item

    def seen_by(self, can_see: Callable[[RunInfo], bool]) -> Inbox:
        """Return the inbox of a person who may see these runs."""
        return Inbox(self._conductor, can_see, self._notify)

    async def answer(
        self, ask: str, event: str, data: Mapping[str, Any] | None = None, *, digest: str
    ) -> RunInfo:
        """Answer a question, unless it has changed since it was shown.

        Args:
            ask: its id.
            event: one of its events; `extend` takes `seconds`.
            data: the event's values.
            digest: the question's digest, as shown to the person.

        Raises:
            UnknownQuestion, InvalidInput
            QuestionClosed: it was already answered, or differs from the one that was shown.
        """
        for _ in range(MAX_ATTEMPTS):
            item, seen = await self._find(ask)
            question = item.ask
            if digest != question.digest:
                raise QuestionClosed(question.run, event, 'it has changed since it was shown: read it again')
            if event not in question.events:
                raise InvalidInput({'event': f'must be one of {", ".join(question.events)}, not {event!r}'})
            try:
                await self._send(question, event, data or {}, seen)
            except StepPassed:
                continue  # Perhaps another region took a step.
            await self._store_decision(ask, answered=event, by=ACTOR.get())
            return await self._conductor.info(question.run)
        raise QuestionClosed(run_and_step(ask)[0], event, 'the run is changing too quickly: try again')

    async def assign(self, ask: str, assignee: str) -> InboxItem:
        """Assign a question to a person, and notify them; '' assigns it to nobody.

        Raises the same errors as `find`.
        """
        name = ' '.join(assignee.split())
        if len(name) > MAX_NAME:
            raise InvalidInput({'assignee': f'must have at most {MAX_NAME} characters'})
        await self._find(ask)
        await self._store_decision(ask, assignee=name)
        item = await self.find(ask)
        if self._notify:
            await self._notify(item)
        return item

    async def snooze(self, ask: str, until: float) -> InboxItem:
        """Snooze a question until a time; 0 ends the snooze. Raises the same errors as `find`."""
        await self._find(ask)
        await self._store_decision(ask, until=until)
        return await self.find(ask)

    async def clean_up(self) -> None:
        """Remove decisions about old questions."""
        query = EntryQuery(kind=KIND, until=self._conductor.clock.now() - RETENTION)
        await self._conductor.journal.documents.forget(query)

    async def _send(self, ask: Ask, event: str, data: Mapping[str, Any], seen: int) -> None:
        if event == 'extend':
            seconds = data.get('seconds')
            if not isinstance(seconds, int | float) or isinstance(seconds, bool):
                raise InvalidInput({'seconds': f'must be a number of seconds, not {seconds!r}'})
            await self._conductor.extend(ask.run, seconds=seconds, seen=seen)
        else:
            await self._conductor.send(ask.run, event, at=ask.at, data=data, seen=seen)

    async def _find_asks(self, run: RunId) -> Sequence[Ask]:
        try:
            fold = await self._conductor.fold(run)
        except JournalDamaged:  # The run is reported elsewhere, and cannot be answered.
            return ()
        return find_asks(self._conductor.catalog, fold.shape, fold.view)

    async def _find(self, ask: str) -> tuple[InboxItem, int]:
        """Return a question and the step at which it was found open."""
        try:
            run, step = run_and_step(ask)
            info, fold = await self._conductor.info(run), await self._conductor.fold(run)
        except (ValueError, UnknownRun):
            raise UnknownQuestion(ask) from None
        if not self._can_see(info):
            raise UnknownQuestion(ask)
        for candidate in find_asks(self._conductor.catalog, fold.shape, fold.view):
            if candidate.id == ask:
                entry = await self._conductor.journal.documents.get(KIND, ask)
                return self._item(info, candidate, entry), fold.view.seq
        raise QuestionClosed(run, 'an answer', await self._describe_ending(ask, run, step))

    async def _describe_ending(self, ask: str, run: RunId, step: int) -> str:
        """Describe in a sentence how a question ended. Raises `UnknownQuestion` if it was never asked."""
        if not 0 < step <= (await self._conductor.info(run)).seq:
            raise UnknownQuestion(ask)
        fold = await self._conductor.fold(run, step)
        asks = find_asks(self._conductor.catalog, fold.shape, fold.view)
        match = next((candidate for candidate in asks if candidate.id == ask), None)
        if match is None:
            raise UnknownQuestion(ask)
        entry = await self._conductor.journal.documents.get(KIND, ask)
        who = f' by {entry.body["by"]}' if entry and entry.body.get('by') else ''
        for later in await self._conductor.transitions(run, after=step):
            if match.at in later.left or (later.event.name == 'cancel'):
                return f'step {later.seq} has ended the question ({later.event.name}{who})'
        return 'the run has ended'

    def _item(self, info: RunInfo, ask: Ask, entry: Entry | None) -> InboxItem:
        body = entry.body if entry else {}
        return InboxItem(
            ask=ask,
            title=info.title or info.id,
            pattern=info.pattern,
            version=info.version,
            tags=info.tags,
            here=self._conductor.can_control(info.id),
            assignee=str(body.get('assignee', '')),
            snoozed_until=float(body.get('until', 0.0)),
        )

    async def _store_decision(self, ask: str, **decided: Any) -> None:
        """Store a person's decision about a question."""
        while True:
            entry = await self._conductor.journal.documents.get(KIND, ask)
            stored = entry or Entry(kind=KIND, key=ask)
            now = self._conductor.clock.now()
            try:
                changed = replace(stored, body={**stored.body, **decided}, rank=now)
                await self._conductor.journal.documents.write([changed])
            except EntryChanged:
                continue
            return


def question_path(ask: str) -> str:
    """Return the path of a question's page."""
    return f'/inbox/{quote(ask, safe=".")}'
