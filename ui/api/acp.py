"""Hemicycle as a coding agent for editors: each prompt of the Agent Client Protocol is a run."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    plan_entry,
    schema,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)

from engine import Conductor, EngineError, InvalidInput, Status, Transition
from engine.history import open_question, program_version
from engine.records import (
    ANSWER,
    Delta,
    Question,
    RunId,
    StatePath,
    View,
    calls_of,
    clip,
    is_within,
    message_of,
    parent_of,
    reply_of,
    results_of,
    snapshots_of,
)
from ui.api.streams.text import StreamedText
from ui.formatting.fields.parameters import main_parameter
from ui.formatting.values import result_notes

TOOL_KINDS: Mapping[str, str] = {
    'write_file': 'edit', 'edit_file': 'edit', 'edit': 'edit', 'read_file': 'read', 'list_files': 'read',
    'search': 'search', 'navigate': 'search', 'run_command': 'execute', 'run_tests': 'execute',
    'git': 'execute', 'execute': 'execute', 'fetch_page': 'fetch',
}  # fmt: skip
"""The protocol's kind of each tool, by name."""
STATES: Mapping[str, str] = {'completed': 'completed', 'in progress': 'in_progress'}
MAX_RESULT_CHARACTERS = 4_000
MAX_BYTES = 1_000_000
"""Maximum size of a file that is written to the editor's folder."""
OPTIONS = [
    schema.PermissionOption(option_id='once', name='Allow once', kind='allow_once'),
    schema.PermissionOption(option_id='always', name='Allow for this run', kind='allow_always'),
    schema.PermissionOption(option_id='no', name='Deny', kind='reject_once'),
]
VISIT = [
    schema.PermissionOption(option_id='accept', name='I have been there', kind='allow_once'),
    schema.PermissionOption(option_id='decline', name='Decline', kind='reject_once'),
]
NO_FORMS = 'This editor shows no forms, so the question was declined.'
WRITE = [
    schema.PermissionOption(option_id='once', name='Write them', kind='allow_once'),
    schema.PermissionOption(option_id='no', name='Leave my files alone', kind='reject_once'),
]


@dataclass(slots=True, kw_only=True)
class EditorSession:
    """A conversation of the editor, and the run that it started."""

    id: str
    folder: str
    pattern: str
    run: RunId | None = None
    """The run under way."""
    cancelled: bool = False
    asked: set[tuple[str, ...]] = field(default_factory=set)
    """Calls and questions that a person has been asked about."""
    answering: set[asyncio.Task[None]] = field(default_factory=set)
    speaker: str = ''
    """The agent whose text was shown last."""
    streamed: StreamedText = field(default_factory=StreamedText)
    plan: list[tuple[str, str]] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    """Ids of the tool calls that the editor has been shown."""


class EditorAgent:
    """The agent's side of the protocol.

    Args:
        conductor: runs the patterns.
        pattern: the pattern of a new session.
        models: models by role.
    """

    def __init__(self, conductor: Conductor, pattern: str, models: Mapping[str, str]) -> None:
        self._conductor, self._pattern, self._models = conductor, pattern, models
        self._sessions: dict[str, EditorSession] = {}
        self._editor: Any = None
        self._writes = self._forms = False

    def on_connect(self, conn: Any) -> None:
        """Store the connection."""
        self._editor = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: Any = None, **more: Any
    ) -> schema.InitializeResponse:
        """Record the editor's capabilities, and return the agent's."""
        files = client_capabilities.fs if client_capabilities else None
        self._writes = bool(files and files.write_text_file)
        asks = client_capabilities.elicitation if client_capabilities else None
        self._forms = bool(asks and asks.form)
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(load_session=False),
            agent_info=schema.Implementation(name='hemicycle', title='Hemicycle', version=program_version()),
        )

    async def new_session(self, cwd: str, **more: Any) -> schema.NewSessionResponse:
        """Begin a session; its modes are the patterns."""
        session = EditorSession(id=uuid.uuid4().hex, folder=cwd, pattern=self._pattern)
        self._sessions[session.id] = session
        modes = [
            schema.SessionMode(
                id=name, name=pattern.title, description=(pattern.__doc__ or '').partition('\n')[0]
            )
            for name, pattern in sorted(self._conductor.catalog.patterns.items())
            if main_parameter(pattern.Parameters.model_json_schema())
        ]
        state = schema.SessionModeState(available_modes=modes, current_mode_id=self._pattern)
        return schema.NewSessionResponse(session_id=session.id, modes=state)

    async def set_session_mode(self, mode_id: str, session_id: str, **more: Any) -> Any:
        """Pick another pattern for the next prompts."""
        with _protocol_errors():
            self._conductor.catalog.pattern(mode_id)
        self._session(session_id).pattern = mode_id
        return schema.SetSessionModeResponse()

    async def cancel(self, session_id: str, **more: Any) -> None:
        """Cancel the run under way."""
        session = self._sessions.get(session_id)
        if session and session.run:
            session.cancelled = True
            with suppress(EngineError):
                await self._conductor.cancel(session.run, 'cancelled in the editor')

    async def prompt(self, session_id: str, prompt: Sequence[Any], **more: Any) -> schema.PromptResponse:
        """Run the session's pattern, stream it to the editor, and offer to write its changes."""
        session = self._session(session_id)
        if session.run is not None:
            raise RequestError.invalid_request({'details': 'the last prompt is still being worked on'})
        text = '\n\n'.join(filter(None, map(_block_text, prompt)))
        with _protocol_errors():
            session.run = await self._start(session, text)
        session.cancelled, session.speaker, session.plan = False, '', []
        session.streamed = StreamedText()
        try:
            return await self._follow(session, session.run)
        finally:
            for task in session.answering:
                task.cancel()
            session.run = None

    async def _start(self, session: EditorSession, text: str) -> RunId:
        pattern = self._conductor.catalog.pattern(session.pattern)
        fields = pattern.Parameters.model_fields
        main = main_parameter(pattern.Parameters.model_json_schema())
        values: dict[str, Any] = {main: text} if main else {}
        if 'project' in fields:
            values['project'] = session.folder
        handle = await self._conductor.start(
            session.pattern, values, models=dict(self._models), tags=('editor',)
        )
        return handle.id

    async def _follow(self, session: EditorSession, run: RunId) -> schema.PromptResponse:
        shape = await self._conductor.shape(run)
        roles = {state.path: state.role or state.path for state in shape.states if state.role}
        async with aclosing(self._conductor.watch(run)) as items:
            async for item in items:
                if isinstance(item, Delta):
                    session.streamed.add(item)
                    if item.kind in ('text', 'reasoning'):
                        await self._send_text(session, roles.get(item.path, item.path), item.text)
                elif isinstance(item, Transition):
                    view = await self._conductor.view(run, item.seq)
                    if reply := reply_of(item.event):
                        agent = parent_of(item.event.at)
                        rest = session.streamed.find_unstreamed(agent, message_of(reply['message']))
                        session.streamed.forget(agent)
                        await self._send_text(session, roles.get(agent, agent), ''.join(rest))
                    await self._show_step(session, item, view, shape.field('plan'))
                    self._ask(session, run, view)
        outcome, view = await self._conductor.result(run), await self._conductor.view(run)
        answer = str(outcome.answer or '') or outcome.error or f'The run is {outcome.status}.'
        if outcome.answer:
            failed = [outcome.error] if outcome.error and outcome.status is not Status.DONE else []
            answer = '\n\n'.join([answer, *failed, *result_notes(view)])
        await self._update(session, update_agent_message_text(answer))
        if not session.cancelled:
            await self._offer(session, run, view)
        used = view.usage
        return schema.PromptResponse(
            stop_reason='cancelled' if session.cancelled else 'end_turn',
            usage=schema.Usage(total_tokens=used.total, input_tokens=used.input, output_tokens=used.output),
        )

    async def _send_text(self, session: EditorSession, who: str, text: str) -> None:
        """Show an agent's text as a thought under its name; the answer follows at the end."""
        if not text:
            return
        lead = '' if session.speaker == who else f'\n\n**{who}**: '
        session.speaker = who
        await self._update(session, update_agent_thought_text(f'{lead}{text}'))

    async def _show_step(self, session: EditorSession, step: Transition, view: View, plan: str) -> None:
        """Show a step's tool calls and results, and the plan if it has changed."""
        for part in calls_of(step.event):
            session.calls.add(part['id'])
            kind: Any = TOOL_KINDS.get(part['name'], 'other')
            started = start_tool_call(
                part['id'], _call_title(part), kind=kind, status='pending', raw_input=part['arguments']
            )
            await self._update(session, started)
        for result in results_of(step.event):
            if result['id'] in session.calls:
                content = [tool_content(text_block(result['text'][:MAX_RESULT_CHARACTERS]))]
                status: Any = 'completed' if result['ok'] else 'failed'
                await self._update(session, update_tool_call(result['id'], status=status, content=content))
        entries = _list_plan(view, plan)
        if entries and entries != session.plan:
            session.plan = entries
            items: Any = [plan_entry(title, status=status) for title, status in entries]  # type: ignore[arg-type]
            await self._update(session, update_plan(items))

    def _ask(self, session: EditorSession, run: RunId, view: View) -> None:
        """Ask about calls and questions that wait for a person, once each; the rest of the run continues."""
        for leaf in view.active:
            if leaf.endswith('.asking') and (question := open_question(view, leaf)):
                about = (leaf, question.call, question.message)
                if about not in session.asked:
                    session.asked.add(about)
                    self._wait_for(session, self._answer(session, run, leaf, question))
            if not leaf.endswith('.approving'):
                continue
            home = next((path for path in view.agents if is_within(leaf, path)), '')
            calls = [part for part in view.agents[home]['messages'][-1]['parts'] if part['kind'] == 'call']
            key = tuple(str(part['id']) for part in calls)
            if key and key not in session.asked:
                session.asked.add(key)
                self._wait_for(session, self._permit(session, run, leaf, calls))

    @staticmethod
    def _wait_for(session: EditorSession, answer: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(answer)
        session.answering.add(task)
        task.add_done_callback(session.answering.discard)

    async def _answer(self, session: EditorSession, run: RunId, leaf: StatePath, question: Question) -> None:
        """Get a tool server's question answered; cancel it if the answer is invalid."""
        title = f'{question.server} asks: {question.message}'
        if question.url:
            chosen = await self._permission(session, question.call, f'{title} {question.url}', VISIT)
            data: dict[str, Any] = {'action': chosen or 'cancel'}
        elif self._forms:
            data = await self._fill_in(session, question, title)
        else:
            data = {'action': 'decline'}
            await self._update(session, update_agent_message_text(f'{title}\n\n{NO_FORMS}\n\n'))
        with suppress(EngineError):  # It may come too late.
            try:
                await self._conductor.send(run, ANSWER, at=leaf, data=data)
            except InvalidInput as error:
                await self._update(session, update_agent_message_text(f'{title}\n\n{error}\n\n'))
                await self._conductor.send(run, ANSWER, at=leaf, data={'action': 'cancel'})

    async def _fill_in(self, session: EditorSession, question: Question, title: str) -> dict[str, Any]:
        mode = schema.ElicitationFormSessionMode(
            session_id=session.id,
            tool_call_id=question.call,
            requested_schema=schema.ElicitationSchema.model_validate(question.fields),
        )
        answer = await self._editor.create_elicitation(title, mode)
        return {'action': answer.action} | (
            {'content': answer.content or {}} if answer.action == 'accept' else {}
        )

    async def _permit(
        self, session: EditorSession, run: RunId, leaf: str, calls: Sequence[Mapping[str, Any]]
    ) -> None:
        name: str = 'approve'
        data: dict[str, Any] = {}
        for part in calls:
            chosen = await self._permission(session, str(part['id']), _call_title(part), OPTIONS)
            if chosen not in ('once', 'always'):
                name, data = 'deny', {'reason': 'denied in the editor'}
                break
            data = {'always': True} if chosen == 'always' else data
        with suppress(EngineError):  # It may have been answered on another screen, or the run may be over.
            await self._conductor.send(run, name, at=leaf, data=data)

    async def _permission(
        self, session: EditorSession, call: str, title: str, options: Sequence[Any], content: Any = None
    ) -> str:
        answer = await self._editor.request_permission(
            session_id=session.id,
            tool_call=schema.ToolCallUpdate(tool_call_id=call, title=title, content=content),
            options=list(options),
        )
        return str(getattr(answer.outcome, 'option_id', ''))

    async def _offer(self, session: EditorSession, run: RunId, view: View) -> None:
        """Write the run's changes to the editor's folder, if the editor supports it and a person agrees."""
        parameters = (await self._conductor.info(run)).parameters
        pattern = self._conductor.catalog.pattern(session.pattern)
        folder = result_folder(view, pattern.deliverables(parameters, view.memory).best)
        if not self._writes or not folder or 'project' not in parameters:
            return
        changed = [change async for change in self._changed_files(run, view.files[folder])]
        if not changed:
            return
        root = session.folder.rstrip('/')
        diffs = [tool_diff_content(f'{root}/{path}', new, old) for path, old, new in changed]
        title = f'Write {len(changed)} changed file{"s" * (len(changed) > 1)} to {root}'
        call = f'write-{run}'
        await self._update(session, start_tool_call(call, title, kind='edit', content=diffs))
        allowed = await self._permission(session, call, title, WRITE, diffs) == 'once'
        if allowed:
            for path, _, new in changed:
                await self._editor.write_text_file(content=new, path=f'{root}/{path}', session_id=session.id)
        await self._update(session, update_tool_call(call, status='completed' if allowed else 'failed'))

    async def _changed_files(self, run: RunId, snapshot: str) -> AsyncIterator[tuple[str, str | None, str]]:
        """Yield the path, old and new text of each text file that the run added to the project or changed."""
        first = await self._first_snapshot(run)
        files = self._conductor.workspaces
        before = {file.path: file.digest for file in await files.files(run, first)} if first else {}
        for file in await files.files(run, snapshot):
            if file.path.startswith('.git/') or before.get(file.path) == file.digest or file.size > MAX_BYTES:
                continue
            old = before.get(file.path)
            try:
                new = (await files.content(run, file.digest)).decode()
                yield file.path, (await files.content(run, old)).decode() if old else None, new
            except UnicodeDecodeError:
                continue

    async def _first_snapshot(self, run: RunId) -> str:
        """Return the run's first snapshot: the project as the run received it."""
        for step in await self._conductor.transitions(run):
            if snapshots := snapshots_of(step.event):
                return str(next(iter(snapshots.values())))
        return ''

    async def _update(self, session: EditorSession, update: Any) -> None:
        await self._editor.session_update(session_id=session.id, update=update)

    def _session(self, name: str) -> EditorSession:
        if name not in self._sessions:
            raise RequestError.invalid_params({'details': f'there is no session {name!r}'})
        return self._sessions[name]


@contextmanager
def _protocol_errors() -> Iterator[None]:
    """Turn errors of the engine into protocol errors."""
    try:
        yield
    except EngineError as error:
        raise RequestError.invalid_params({'details': str(error)}) from None


def result_folder(view: View, best: str) -> str:
    """Return the agent whose folder holds the result: the only one, or the best as picked; '' if none."""
    if len(view.files) == 1:
        return next(iter(view.files))
    return best if best in view.files else ''


def _list_plan(view: View, name: str) -> list[tuple[str, str]]:
    """The run's plan as titles and states; without one, its agents."""
    steps = view.memory.get(name) if name else None
    if isinstance(steps, list):
        return [
            (str(step.get('title', '')), STATES.get(str(step.get('state')), 'pending'))
            for step in steps
            if isinstance(step, Mapping)
        ]
    return [
        (str(agent['role']), 'in_progress' if _is_at_work(view, path) else 'completed')
        for path, agent in view.agents.items()
    ]


def _is_at_work(view: View, path: str) -> bool:
    leaf = next((leaf for leaf in view.active if is_within(leaf, path)), '')
    return bool(leaf) and not leaf.endswith(('.done', '.failed'))


def _call_title(part: Mapping[str, Any]) -> str:
    arguments = ' '.join(str(part['arguments']).split())
    return f'{part["name"]} {clip(arguments, 120)}'


def _block_text(block: Any) -> str:
    match block:
        case schema.TextContentBlock():
            return str(block.text)
        case schema.ResourceContentBlock():
            return f'See {block.uri}'
        case schema.EmbeddedResourceContentBlock():
            return str(getattr(block.resource, 'text', ''))
    return ''
