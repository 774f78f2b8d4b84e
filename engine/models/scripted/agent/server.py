"""The protocol's server side: sessions, prompts, calls and permissions, played by the scripted model."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from engine.errors import ModelError
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Completed,
    Hints,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    Thinking,
)
from engine.models.scripted.agent.tools import TOOLS, Refused, Toolbox
from engine.models.scripted.model import Scripted
from engine.records.message import Message, Part, Reasoning, Text, ToolCall, ToolResult, message_of
from engine.records.usage import Usage

MAX_REPLIES = 60
HINTS = ('pattern', 'role', 'state', 'task', 'visit', 'attempt', 'seed')
NO_TOOL = 'other'


@dataclass(kw_only=True)
class Session:
    """A conversation with one client, in its folder."""

    id: str
    folder: Path
    hints: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    replies: int = 0
    """Number of replies in this visit."""
    schema: Mapping[str, Any] | None = None
    """The schema of the answer, if one is asked for."""
    usage: Usage = field(default_factory=Usage)
    work: asyncio.Task[Any] | None = None

    @property
    def file(self) -> Path:
        """The file in which it is saved for the next start."""
        return Path.home() / '.hemicycle-scripted' / f'{self.id}.json'

    def save(self) -> None:
        """Write the session to its file, from which a later process can load it."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        content = {
            'hints': self.hints,
            'replies': self.replies,
            'messages': to_jsonable_python(self.messages),
        }
        temporary = self.file.with_suffix('.new')
        temporary.write_text(json.dumps(content), 'utf-8')
        os.replace(temporary, self.file)


class ScriptedAgent:
    """A coding agent whose text and calls come from the scripted model.

    Args:
        asks: the kinds of tool calls for which it asks permission.
        loads: whether it can resume sessions.
    """

    def __init__(self, *, asks: frozenset[str] = frozenset(), loads: bool = True) -> None:
        self._asks, self._loads = asks, loads
        self._sessions: dict[str, Session] = {}
        self._model = Scripted()
        self._client: Any = None

    def on_connect(self, conn: Any) -> None:
        """Store the connection."""
        self._client = conn

    async def initialize(self, protocol_version: int, **more: Any) -> Any:
        """Report the protocol version and the agent's capabilities."""
        from acp import PROTOCOL_VERSION, schema

        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(load_session=self._loads),
            agent_info=schema.Implementation(name='hemicycle-scripted', title='Scripted agent', version='1'),
        )

    async def new_session(self, cwd: str, **more: Any) -> Any:
        """Begin a session in a folder."""
        from acp import schema

        session = Session(id=uuid.uuid4().hex, folder=Path(cwd))
        self._apply_hints(session, more)
        self._sessions[session.id] = session
        session.save()
        return schema.NewSessionResponse(session_id=session.id)

    async def load_session(self, cwd: str, session_id: str, **more: Any) -> Any:
        """Resume a session, and send its messages again."""
        from acp import RequestError, schema, update_agent_message_text, update_user_message_text

        session = Session(id=session_id, folder=Path(cwd))
        if not session_id.isalnum() or not session.file.is_file():
            raise RequestError.resource_not_found(session_id)
        saved = json.loads(session.file.read_text('utf-8'))
        session.hints, session.replies = saved['hints'], saved['replies']
        session.messages = [message_of(message) for message in saved['messages']]
        self._apply_hints(session, more)
        self._sessions[session.id] = session
        for message in session.messages:
            if message.text:
                say = update_agent_message_text if message.role == 'assistant' else update_user_message_text
                await self._client.session_update(session_id=session.id, update=say(message.text))
        return schema.LoadSessionResponse()

    async def cancel(self, session_id: str, **more: Any) -> None:
        """Cancel the turn in progress."""
        session = self._sessions.get(session_id)
        if session and session.work:
            session.work.cancel()

    async def prompt(self, session_id: str, prompt: Sequence[Any], **more: Any) -> Any:
        """Play a turn: replies and tool calls, until a reply calls none."""
        from acp import RequestError, schema

        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError.invalid_params({'details': f'there is no session {session_id!r}'})
        text = '\n'.join(block.text for block in prompt if isinstance(block, schema.TextContentBlock))
        session.messages.append(Message.of('user', text))
        session.usage = Usage()
        session.work = asyncio.ensure_future(self._play(session))
        try:
            await session.work
            reason = 'end_turn'
        except asyncio.CancelledError:
            reason = 'cancelled'
        except ModelError as error:
            again = f'; try again in {error.retry_after:g} s' if error.retry_after else ''
            raise RequestError(-32603, f'{error}{again}') from None
        finally:
            session.work = None
            session.save()
        used = session.usage
        return schema.PromptResponse(
            stop_reason=reason,  # type: ignore[arg-type]
            usage=schema.Usage(total_tokens=used.total, input_tokens=used.input, output_tokens=used.output),
        )

    def _apply_hints(self, session: Session, meta: Mapping[str, Any]) -> None:
        hints = meta.get('hemicycle')
        if isinstance(hints, Mapping):
            if hints.get('visit') != session.hints.get('visit'):
                session.replies = 0
            session.hints = {name: hints[name] for name in HINTS if name in hints}
            session.schema = hints.get('schema')

    async def _play(self, session: Session) -> None:
        toolbox = Toolbox(client=self._client, session=session.id, folder=session.folder)
        for _ in range(MAX_REPLIES):
            message = await self._reply(session)
            session.messages.append(message)
            session.replies += 1
            if not message.calls:
                return
            results: list[Part] = []
            done: set[str] = set()
            for call in message.calls:
                await self._report_plan(session, message.calls, done)
                results.append(await self._run_tool(session, toolbox, call))
                done.add(call.id)
            await self._report_plan(session, message.calls, done)
            session.messages.append(Message(role='tool', parts=tuple(results)))
            session.save()

    async def _reply(self, session: Session) -> Message:
        from acp import update_agent_message_text, update_agent_thought_text

        request = ModelRequest(
            model='scripted',
            messages=tuple(session.messages),
            tools=tuple(tool.spec(name) for name, tool in TOOLS.items()),
            schema=session.schema,
            hints=Hints(turn=session.replies, **session.hints),
        )
        texts: list[Part] = []
        calls: list[tuple[str, list[str]]] = []
        async for event in self._model.stream(request):
            match event:
                case Thinking():
                    await asyncio.sleep(event.seconds)
                case TextPiece():
                    texts.append(Text(text=event.text))
                    update = update_agent_message_text(event.text)
                    await self._client.session_update(session_id=session.id, update=update)
                case ReasoningPiece():
                    texts.append(Reasoning(text=event.text))
                    thought = update_agent_thought_text(event.text)
                    await self._client.session_update(session_id=session.id, update=thought)
                case CallStarted():
                    calls.append((event.name, []))
                case ArgumentPiece():
                    calls[event.index][1].append(event.text)
                case Completed():
                    session.usage += event.usage
        prompt = ''.join(part.text for part in texts if isinstance(part, Text))
        tool_calls = [
            ToolCall(id=uuid.uuid4().hex[:12], name=name, arguments=''.join(pieces) or '{}')
            for name, pieces in calls
        ]
        return Message(role='assistant', parts=(Text(text=prompt), *tool_calls))

    async def _run_tool(self, session: Session, toolbox: Toolbox, call: ToolCall) -> ToolResult:
        from acp import start_tool_call, text_block, tool_content, update_tool_call

        arguments = json.loads(call.arguments)
        tool = TOOLS.get(call.name)
        kind: Any = tool.kind if tool else NO_TOOL
        await self._client.session_update(
            session_id=session.id,
            update=start_tool_call(
                call.id, _call_title(call.name, arguments), kind=kind, status='pending', raw_input=arguments
            ),
        )
        try:
            if kind in self._asks and not await self._is_allowed(session, call, kind, arguments):
                raise Refused('A person did not allow this.')
            await self._client.session_update(
                session_id=session.id, update=update_tool_call(call.id, status='in_progress')
            )
            text, ok = await toolbox.use(call.name, arguments), True
        except Refused as error:
            text, ok = str(error), False
        await self._client.session_update(
            session_id=session.id,
            update=update_tool_call(
                call.id,
                status='completed' if ok else 'failed',
                content=[tool_content(text_block(text))],
                raw_output={'output': text},
            ),
        )
        return ToolResult(id=call.id, name=call.name, text=text, ok=ok)

    async def _is_allowed(
        self, session: Session, call: ToolCall, kind: Any, arguments: Mapping[str, Any]
    ) -> bool:
        from acp import schema

        answer = await self._client.request_permission(
            session_id=session.id,
            tool_call=schema.ToolCallUpdate(
                tool_call_id=call.id,
                title=_call_title(call.name, arguments),
                kind=kind,
                raw_input=dict(arguments),
            ),
            options=[
                schema.PermissionOption(option_id='yes', name='Allow', kind='allow_once'),
                schema.PermissionOption(option_id='no', name='Reject', kind='reject_once'),
            ],
        )
        return getattr(answer.outcome, 'option_id', '') == 'yes'

    async def _report_plan(self, session: Session, calls: Sequence[ToolCall], done: set[str]) -> None:
        from acp import plan_entry, update_plan

        entries = []
        current = next((call.id for call in calls if call.id not in done), '')
        for call in calls:
            status: Any = (
                'completed' if call.id in done else 'in_progress' if call.id == current else 'pending'
            )
            entries.append(plan_entry(_call_title(call.name, json.loads(call.arguments)), status=status))
        await self._client.session_update(session_id=session.id, update=update_plan(entries))


def _call_title(name: str, arguments: Mapping[str, Any]) -> str:
    about = next((arguments[key] for key in ('path', 'command', 'pattern') if arguments.get(key)), '')
    return f'{name} {about}'.strip()
