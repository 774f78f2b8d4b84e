"""The client side of the protocol: files and commands in the workspace, permissions, and updates."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from acp import RequestError, schema

from engine.errors import EngineError, ModelError, ToolError
from engine.records.run_info import Approvals
from engine.tools.acp.turn import MAX_TERMINAL_OUTPUT, Call, Turn, text_of
from engine.workspace.confined_dir import SANDBOX_PATH
from engine.workspace.sandbox.limits import Confinement, Limits
from engine.workspace.sandbox.process import CommandResult
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspace import Workspace

MAX_TERMINALS = 16
TERMINAL_SECONDS = 1_800.0


@dataclass(slots=True)
class Terminal:
    """A command that runs for the agent in the sandbox."""

    max_characters: int
    task: asyncio.Task[CommandResult] | None = None
    output: str = ''
    truncated: bool = False

    def add(self, text: str) -> None:
        """Append output; if there is too much, only the end is kept."""
        self.output += text
        if len(self.output) > self.max_characters:
            self.output, self.truncated = self.output[-self.max_characters :], True


@dataclass(slots=True, kw_only=True)
class AgentClient:
    """Serves one agent's requests, within its workspace."""

    workspace: Workspace
    sandbox: Sandbox
    root: str
    """The workspace's path as the agent knows it."""
    approvals: Approvals
    turn: Turn = field(default_factory=Turn)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with each update, for tasks waiting for one."""
    problem: ModelError | None = None
    """Why its updates are no longer accepted."""
    loading: bool = False
    """Whether incoming updates repeat an earlier session."""
    cost: float | None = None
    """Cost of the session in dollars so far, if reported."""
    context: int = 0
    """Tokens in its context, if reported."""
    last_activity: float = 0.0
    """The time of its last activity, by the event loop's clock."""
    terminals: dict[str, Terminal] = field(default_factory=dict)
    _counter: int = 0

    # Updates

    async def session_update(self, session_id: str, update: Any, **meta: Any) -> None:
        """Apply an update that the agent reports, unless it repeats a loaded session or has failed."""
        self.note_activity()
        if self.loading or self.problem:
            return
        try:
            self._apply_update(update)
        except ModelError as error:
            self.problem = error
        self.changed.set()

    def note_activity(self) -> None:
        """Record that the agent has just been heard from, which restarts its time limit for silence."""
        self.last_activity = asyncio.get_running_loop().time()

    def _apply_update(self, update: Any) -> None:
        match update:
            case schema.AgentMessageChunk():
                self.turn.add_text('text', text_of(update.content), update.message_id)
            case schema.AgentThoughtChunk():
                self.turn.add_text('reasoning', text_of(update.content), update.message_id)
            case schema.ToolCallStart() | schema.ToolCallProgress():
                self.turn.update_call(update)
            case schema.AgentPlanUpdate():
                self.turn.plan = [
                    {'content': entry.content[:1_000], 'status': entry.status, 'priority': entry.priority}
                    for entry in update.entries[:100]
                ]
            case schema.UsageUpdate():
                self.context = update.used
                if update.cost and update.cost.currency.upper() == 'USD':
                    self.cost = update.cost.amount

    # Permissions

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Sequence[schema.PermissionOption], **meta: Any
    ) -> schema.RequestPermissionResponse:
        """Return a person's decision; the agent waits until then."""
        self.note_activity()
        call = self.turn.update_call(tool_call)
        allowed = await self._ask_permission(call)
        if allowed and call.status == 'pending':
            call.status = 'in_progress'  # Gemini sends no further update until it has ended.
            self.changed.set()
        return _answer(options, allowed)

    async def _ask_permission(self, call: Call) -> bool:
        if self.approvals == 'none':
            return True
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.turn.request_permission(call, answer)
        self.changed.set()
        try:
            return await answer
        finally:
            self.note_activity()

    async def _require_permission(
        self, kind: Literal['edit', 'execute'], title: str, arguments: dict[str, Any]
    ) -> None:
        """Wait for a person to approve a file or a command, if all need approval. Raises `RequestError`."""
        if self.approvals != 'all':
            return
        if any(call.kind == kind and call.permission and call.permission.done() and call.permission.result()
               and not call.has_ended for call in self.turn.calls.values()):  # fmt: skip
            return  # It belongs to a call that was allowed.
        self._counter += 1
        call = self.turn.update_call(
            schema.ToolCallStart(
                session_update='tool_call', tool_call_id=f'hemicycle-{self._counter}', title=title, kind=kind,
                raw_input=arguments,
            )
        )  # fmt: skip
        allowed = await self._ask_permission(call)
        call = self.turn.calls[call.id]
        call.status = 'completed' if allowed else 'failed'
        call.output = 'It was allowed.' if allowed else 'It was not allowed.'
        self.changed.set()
        if not allowed:
            raise RequestError.invalid_request({'details': 'a person did not allow this'})

    # Files

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **meta: Any
    ) -> schema.ReadTextFileResponse:
        """Return a text file of the workspace, or `limit` lines of it from `line` (from 1)."""
        self.note_activity()
        with _protocol_errors():
            data = await self.workspace.read(self._relative_path(path))
        text = data.decode('utf-8', 'replace')
        if line or limit:
            lines = text.splitlines(keepends=True)
            first = max(0, (line or 1) - 1)
            text = ''.join(lines[first : first + limit if limit else None])
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **meta: Any
    ) -> schema.WriteTextFileResponse:
        """Write a text file into the workspace, once it is permitted."""
        self.note_activity()
        inner = self._relative_path(path)
        await self._require_permission('edit', f'Write {inner}', {'path': inner, 'content': content})
        with _protocol_errors():
            await self.workspace.write(inner, content.encode('utf-8', 'replace'))
        return schema.WriteTextFileResponse()

    def _relative_path(self, path: str) -> str:
        """Convert the agent's path to a path inside the workspace. Raises `RequestError`."""
        for root in (self.root, SANDBOX_PATH):
            if path == root or path.startswith(f'{root}/'):
                return path[len(root) :].lstrip('/')
        if path.startswith('/'):
            raise RequestError.invalid_params({'details': f'{path}: it is outside your folder {self.root}'})
        return path

    # Terminals

    async def create_terminal(  # noqa: PLR0913  (as the protocol has them)
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[schema.EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **meta: Any,
    ) -> schema.CreateTerminalResponse:
        """Start a command in the sandbox, in the workspace."""
        self.note_activity()
        inner = self._relative_path(cwd) if cwd else ''
        if sum(not item.task.done() for item in self.terminals.values() if item.task) >= MAX_TERMINALS:
            raise RequestError.invalid_request({'details': f'{MAX_TERMINALS} terminals are running already'})
        # Some agents send a whole shell line as the command.
        line = shlex.join([command, *args]) if args else command
        await self._require_permission(
            'execute', line, {'command': line, **({'cwd': inner} if inner else {})}
        )
        self._counter += 1
        name = f'terminal-{self._counter}'
        terminal = Terminal(min(MAX_TERMINAL_OUTPUT, output_byte_limit or MAX_TERMINAL_OUTPUT))
        script = f'cd {shlex.quote(inner)} && {line}' if inner else line
        variables = {item.name: item.value for item in env or ()}

        def add_output(text: str) -> None:
            self.note_activity()  # An agent is not silent while the command it waits for writes output.
            terminal.add(text)

        terminal.task = asyncio.ensure_future(
            self.sandbox.run(
                ['sh', '-c', script],
                self.workspace,
                Confinement(limits=Limits(seconds=TERMINAL_SECONDS), variables=variables),
                on_output=add_output,
            )
        )
        self.terminals[name] = terminal
        return schema.CreateTerminalResponse(terminal_id=name)

    async def terminal_output(
        self, session_id: str, terminal_id: str, **meta: Any
    ) -> schema.TerminalOutputResponse:
        """Return the output of a command so far."""
        self.note_activity()
        terminal = self._find_terminal(terminal_id)
        ended = await self._wait_for_exit(terminal) if terminal.task and terminal.task.done() else None
        status = schema.TerminalExitStatus(exit_code=ended) if ended is not None else None
        return schema.TerminalOutputResponse(
            output=terminal.output, truncated=terminal.truncated, exit_status=status
        )

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **meta: Any
    ) -> schema.WaitForTerminalExitResponse:
        """Wait until a command has ended."""
        code = await self._wait_for_exit(self._find_terminal(terminal_id))
        self.note_activity()
        return schema.WaitForTerminalExitResponse(exit_code=code)

    async def kill_terminal(
        self, session_id: str, terminal_id: str, **meta: Any
    ) -> schema.KillTerminalResponse:
        """Kill a command; its output is kept."""
        self.note_activity()
        terminal = self._find_terminal(terminal_id)
        if terminal.task:
            terminal.task.cancel()
            await asyncio.wait({terminal.task})
        return schema.KillTerminalResponse()

    async def release_terminal(
        self, session_id: str, terminal_id: str, **meta: Any
    ) -> schema.ReleaseTerminalResponse:
        """Kill a command if it is still running; its output is kept for the result."""
        await self.kill_terminal(session_id, terminal_id)
        return schema.ReleaseTerminalResponse()

    def _find_terminal(self, name: str) -> Terminal:
        if name not in self.terminals:
            raise RequestError.invalid_params({'details': f'there is no terminal {name!r}'})
        return self.terminals[name]

    async def _wait_for_exit(self, terminal: Terminal) -> int:
        """Wait for a command to end and return its exit status."""
        assert terminal.task is not None
        await asyncio.wait({terminal.task})
        if terminal.task.cancelled():
            return 137
        if error := terminal.task.exception():
            terminal.add(f'{error}\n')
            return 127
        return terminal.task.result().code

    @property
    def outputs(self) -> dict[str, str]:
        """The output so far of each terminal, by its id."""
        return {name: terminal.output for name, terminal in self.terminals.items()}

    async def close(self) -> None:
        """Kill all commands, and cancel the calls that wait for permission."""
        tasks = [
            terminal.task
            for terminal in self.terminals.values()
            if terminal.task and not terminal.task.done()
        ]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for call in self.turn.calls.values():
            if call.permission and not call.permission.done():
                call.permission.cancel()


def agent_root(workspace: Workspace, *, sandboxed: bool) -> str:
    """Return the path of the workspace as its agent sees it."""
    return SANDBOX_PATH if sandboxed else os.path.realpath(Path(workspace.folder))


@contextmanager
def _protocol_errors() -> Iterator[None]:
    """Convert the workspace's errors to errors of the protocol."""
    try:
        yield
    except EngineError as error:
        if isinstance(error, ToolError) and 'no such file' in str(error):
            raise RequestError.resource_not_found(str(error)) from None
        raise RequestError.invalid_params({'details': str(error)}) from None


def _answer(options: Sequence[schema.PermissionOption], allowed: bool) -> schema.RequestPermissionResponse:
    """Choose the option for an answer, the one-time one if offered: we remember lasting answers ourselves."""
    kinds = ('allow_once', 'allow_always') if allowed else ('reject_once', 'reject_always')
    for kind in kinds:
        if chosen := next((option for option in options if option.kind == kind), None):
            outcome = schema.AllowedOutcome(outcome='selected', option_id=chosen.option_id)
            return schema.RequestPermissionResponse(outcome=outcome)
    return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome='cancelled'))
