"""Questions of MCP servers (elicitation): a call is suspended until a person has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from engine.records.question import Question, answer_model
from engine.tools.protocol import AnswerNeeded

if TYPE_CHECKING:
    from mcp import types

CURRENT: ContextVar[AskingCall] = ContextVar('CURRENT')
"""The current call: newer servers ask their question in the response to it."""
MAX_QUESTION = 4_000
"""Maximum characters of a question."""
CANCEL_SECONDS = 5.0
"""Seconds that an abandoned call has to end."""
WEB = ('https://', 'http://')


class Connection(Protocol):
    """The connection that a call uses."""

    calls: list[AskingCall]
    """Calls in progress."""

    @property
    def name(self) -> str:
        """The server's name."""

    def hide(self, text: str) -> str:
        """Remove the server's secrets from text."""


class AskingCall:
    """One tool call during which the server may ask a person a question.

    It runs in its own task. When the server asks, the call is suspended and `result` raises `AnswerNeeded`.
    Once the person has answered, the next `result` continues it.

    Args:
        session: the connection that it uses.
        call: the id of the tool call.
        run: the id of its run.
    """

    def __init__(self, session: Connection, call: str, run: str) -> None:
        self._session, self._call, self.run = session, call, run
        self._answers: list[Question] = []
        self._may_ask = False
        self._turn = asyncio.Lock()
        self._asked = asyncio.Event()
        self._answer: asyncio.Future[Question] | None = None
        self.question: Question | None = None
        self.answered = 0
        """Number of answers by a person."""
        self._task: asyncio.Task[types.CallToolResult] | None = None
        self._limit: asyncio.Timeout | None = None

    def start(self, work: Callable[[], Awaitable[types.CallToolResult]]) -> None:
        """Run `work`, the call itself, in a task; `result` waits for it."""

        async def begin() -> types.CallToolResult:
            CURRENT.set(self)
            self._session.calls.append(self)
            try:
                return await work()
            finally:
                self._session.calls.remove(self)

        self._task = asyncio.create_task(begin(), name=f'mcp:{self._session.name}:{self._call}')

    async def result(
        self, questions: Sequence[Question] | None, limit: asyncio.Timeout
    ) -> types.CallToolResult:
        """Wait for the call to end. Cancelling the wait ends the call.

        Args:
            questions: the call's questions so far, with the answers; None if nobody can be asked.
            limit: the time limit of the wait.

        Raises:
            AnswerNeeded: the server asks a new question.
        """
        assert self._task is not None
        self._may_ask, self._limit = questions is not None, limit
        self._answers = [question for question in questions or () if question.action]
        if self.question and (answered := self._find_known(self.question)) and self._answer:
            self.question = None
            self._asked.clear()
            self._answer.set_result(answered)
        asking = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait({self._task, asking}, return_when=asyncio.FIRST_COMPLETED)
            if self._task.done():
                return await self._task
            assert self.question is not None
            raise AnswerNeeded(self.question)
        except asyncio.CancelledError:
            await self.end()
            raise
        finally:
            asking.cancel()

    @property
    def is_waiting(self) -> bool:
        """Whether it is waiting for a person."""
        return self.question is not None

    def extend(self, seconds: float) -> None:
        """Set its time limit to this many seconds from now."""
        if self._limit and not self.is_waiting:
            self._limit.reschedule(asyncio.get_running_loop().time() + seconds)

    async def end(self) -> None:
        """Cancel the call, and wait at most `CANCEL_SECONDS` until it has ended."""
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CANCEL_SECONDS)

    async def answer(self, request: types.ElicitRequestParams) -> types.ElicitResult:
        """Return a person's answer to the server's question; `cancel` if nobody can be asked."""
        from mcp import types

        async with self._turn:  # One question at a time.
            question = self._question(request)
            if question is None or not self._may_ask:
                return types.ElicitResult(action='cancel')
            answered = self._find_known(question)
            if answered is None:
                self._answer = asyncio.get_running_loop().create_future()
                self.question = question
                self._asked.set()
                answered = await self._answer
                self.answered += 1
            self._answers.remove(answered)
            content = None if answered.content is None else dict(answered.content)
            return types.ElicitResult(action=answered.action or 'cancel', content=content)

    def _find_known(self, question: Question) -> Question | None:
        return next((answered for answered in self._answers if answered.is_same(question)), None)

    def _question(self, request: types.ElicitRequestParams) -> Question | None:
        """Return the question as shown to a person; None if it cannot be asked."""
        url = str(getattr(request, 'url', ''))
        fields = dict(getattr(request, 'requested_schema', {}))
        try:
            answer_model(fields)
        except Exception:  # Any of pydantic's errors about an invalid schema.
            return None
        if url and not url.startswith(WEB):
            return None
        message = self._session.hide(request.message)[:MAX_QUESTION]
        return Question(call=self._call, server=self._session.name, message=message, fields=fields, url=url)
