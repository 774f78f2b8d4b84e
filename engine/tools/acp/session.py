"""One session with an external agent: started or resumed, in its mode, prompted, followed and killed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from acp import PROTOCOL_VERSION, RequestError, schema, text_block
from acp.client.connection import ClientSideConnection

from engine.errors import ModelError
from engine.records import Usage
from engine.records.run_info import Approvals
from engine.tools.acp.client import AgentClient, agent_root
from engine.tools.acp.error_mapping import AUTH, turn_error
from engine.tools.acp.known_agents import ExternalAgent
from engine.tools.acp.process import AgentPlace, AgentProcess
from engine.tools.acp.turn import Call, Piece
from engine.tools.acp.usage import TurnUsage, reported_usage

log = logging.getLogger('hemicycle')
SETTLE_SECONDS = 0.3
"""Seconds after which a running call is shown as such; until then it may still ask for permission."""
CLOSE_SECONDS = 2.0
Stream = Callable[[str, Literal['text', 'reasoning']], None]


OPTION = 'mode'
"""The id or the category of the option with which newer agents offer their modes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An agent's text and tool calls since the last reply."""

    parts: Sequence[Piece | Call]
    ended: bool
    """Whether its turn is over."""
    reason: str = ''
    """Why it ended: a stop reason of the protocol."""
    usage: Usage | None = None
    """Usage of the whole turn, if it has ended and the agent reports it."""
    dollars: float | None = None
    """Cost since the last reply, if the agent reports it."""
    plan: list[dict[str, str]] | None = None
    """The plan, if it has changed."""


class AgentSession:
    """One process of an agent, with one session.

    Args:
        agent: the agent.
        place: where it works.
        approvals: what waits for a person.
    """

    def __init__(self, agent: ExternalAgent, place: AgentPlace, *, approvals: Approvals = 'marked') -> None:
        self.agent, self.id, self._place = agent, '', place
        self.root = agent_root(place.workspace, sandboxed=agent.sandboxed)
        self.client = AgentClient(
            workspace=place.workspace, sandbox=place.sandbox, root=self.root, approvals=approvals
        )
        self._process: AgentProcess | None = None
        self._connection: ClientSideConnection | None = None
        self._prompt: asyncio.Task[Any] | None = None
        """The turn in progress; its result is the agent's answer."""
        self._calls: dict[str, Call] = {}
        """Journaled calls by their ids in the journal."""
        self._counted_cost = 0.0
        """Cost of the session counted so far, in dollars."""
        self._info: schema.InitializeResponse | None = None
        self.usage = TurnUsage(reports=agent.reports_usage)
        self.sent_messages = 0
        """How many messages of the conversation have been sent to the agent."""
        self.closed = False

    @property
    def can_resume(self) -> bool:
        """Whether the agent can load a session of an earlier process."""
        can = self._info.agent_capabilities if self._info else None
        return bool(can and can.load_session)

    @property
    def introduction(self) -> str:
        """How the agent introduces itself and what it can do, as a sentence."""
        info = self._info
        who = info.agent_info if info else None
        name = ' '.join(
            filter(None, [(who.title or who.name) if who else self.agent.name, who.version if who else ''])
        )
        again = 'resumes sessions after a crash' if self.can_resume else 'starts over after a crash'
        return (
            f'{name} began a session {"in the" if self.agent.sandboxed else "without a"} sandbox; it {again}'
        )

    @property
    def is_in_turn(self) -> bool:
        """Whether a turn is in progress, or its end has not been handled yet."""
        return self._prompt is not None

    async def start(self, *, earlier: str = '', hints: Mapping[str, Any] | None = None) -> bool:
        """Start the agent, and begin or resume a session.

        Args:
            earlier: the id of an earlier session.
            hints: the caller's identity, for the scripted agent.

        Returns:
            Whether it continues the earlier session.

        Raises:
            ModelError: it cannot be started, does not answer in time, or speaks another version.
        """
        asking = self.agent.approval_variables.get(self.client.approvals, {})
        agent = replace(self.agent, env={**asking, **self.agent.env})
        self._process = await AgentProcess.start(agent, self._place)
        client: Any = self.client
        self._connection = ClientSideConnection(client, self._process)
        try:
            async with asyncio.timeout(self.agent.start):
                return await self._begin(earlier, hints or {})
        except TimeoutError:
            problem = f'it did not begin a session within {self.agent.start:g} s'
            raise self._name_agent(ModelError(problem, kind='timeout', retryable=True)) from None
        except ConnectionError:
            raise self._name_agent(await self._process.exit_error()) from None
        except Exception as error:
            raise self._name_agent(turn_error(error)) from error

    async def _begin(self, earlier: str, hints: Mapping[str, Any]) -> bool:
        assert self._connection is not None
        reads = not self.agent.reads_files
        files = schema.FileSystemCapabilities(read_text_file=reads, write_text_file=True)
        self._info = await self._connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(fs=files, terminal=True),
            client_info=schema.Implementation(name='hemicycle', title='Hemicycle', version=_version()),
        )
        if self._info.protocol_version != PROTOCOL_VERSION:
            raise ModelError(
                f'it speaks version {self._info.protocol_version} of the protocol, and Hemicycle speaks '
                f'{PROTOCOL_VERSION}: install a newer version of it',
                kind='bad request',
            )
        meta: dict[str, Any] = {'hemicycle': dict(hints)} if self.agent.simulated else {}
        if earlier and self.can_resume:
            self.client.loading = True
            try:
                loaded = await self._connection.load_session(
                    cwd=self.root, session_id=earlier, mcp_servers=[], **meta
                )
            except RequestError as error:
                log.info('%s does not resume session %s: %s', self.agent.name, earlier, error)
            else:
                self.id = earlier
                await self._set_mode(loaded)
                return True
            finally:
                self.client.loading = False
        try:
            session = await self._connection.new_session(cwd=self.root, mcp_servers=[], **meta)
        except RequestError as error:
            if error.code != AUTH or not self._can_sign_in:
                raise
            await self._connection.authenticate(method_id=self.agent.login)
            session = await self._connection.new_session(cwd=self.root, mcp_servers=[], **meta)
        self.id = session.session_id
        await self._set_mode(session)
        return False

    async def _set_mode(self, opened: schema.NewSessionResponse | schema.LoadSessionResponse | None) -> None:
        assert self._connection is not None
        await set_mode(self._connection, self.id, opened, self.agent, self.client.approvals)

    @property
    def _can_sign_in(self) -> bool:
        """Whether it can be signed in with a key of its environment, without a person at a browser."""
        offered = self._info.auth_methods if self._info else None
        return any(method.id == self.agent.login for method in offered or ())

    def prompt(self, text: str) -> None:
        """Begin a turn."""
        assert self._connection is not None and self._prompt is None
        self.client.note_activity()
        self.usage.begin()
        prompt = self._connection.prompt(session_id=self.id, prompt=[text_block(text)])
        self._prompt = asyncio.ensure_future(prompt)
        self._prompt.add_done_callback(lambda done: self.client.changed.set())

    async def wait_for_reply(self, stream: Stream) -> Reply:
        """Wait until the agent calls tools or ends its turn, streaming its text meanwhile.

        Raises:
            ModelError: it has exited, is silent for too long, or the turn failed.
        """
        turn, prompt = self.client.turn, self._prompt
        assert prompt is not None
        while True:
            for text, kind in turn.take_new_text():
                stream(text, kind)
            done = prompt.done()
            first = turn.first_call
            if first is not None and (done or self._is_settled(first)):
                return self._reply(ended=False)
            if done:
                response = await self._response(prompt)
                self._prompt = None
                return self._reply(ended=True, response=response)
            await self._wait_for_update(first)

    async def wait_for_results(self, ids: Sequence[str]) -> list[tuple[str, bool]]:
        """Wait for the results of these journaled calls: the text of each, and whether it succeeded.

        Calls that wait for permission are approved: a person or a rule has decided so. A call that asks for
        permission again returns immediately and is part of the next reply.

        Raises:
            ModelError: as for `wait_for_reply`.
        """
        calls = [self._calls.get(name) for name in ids]
        for call in calls:
            if call and call.is_waiting and call.permission:
                call.permission.set_result(True)
        while waiting := [call for call in calls if call and not call.has_ended]:
            if self._prompt is None or self._prompt.done():
                break
            await self._wait_for_update(None, patient=any(call.is_waiting for call in waiting))
        if self._prompt and self._prompt.done() and self._prompt.exception() is not None:
            await self._response(self._prompt)
        return [self._result(call) for call in calls]

    def deny(self) -> None:
        """Deny all journaled calls that still wait for permission, as a person has decided."""
        for call in self._calls.values():
            if call.is_waiting and call.permission:
                call.permission.set_result(False)

    def record_call(self, call: Call, name: str) -> None:
        """Record the id that a call has in the journal."""
        call.journaled = name
        self._calls[name] = call

    async def close(self) -> None:
        """Kill the agent and everything it has started."""
        if self.closed:
            return
        self.closed = True
        if self._prompt is not None:
            self._prompt.cancel()
        await self.client.close()
        if self._process is not None:
            await self._process.close()
        if self._connection is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._connection.close(), CLOSE_SECONDS)
        if self._prompt is not None:
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._prompt

    def _is_settled(self, call: Call) -> bool:
        """Return whether the state of a call is settled: it asks, has ended, or is running."""
        if call.is_waiting or call.has_ended:
            return True
        runs = call.status == 'in_progress' or call.input is not None
        return runs and asyncio.get_running_loop().time() - call.since >= SETTLE_SECONDS

    def _reply(self, *, ended: bool, response: Any = None) -> Reply:
        turn, cost = self.client.turn, self.client.cost
        self.usage.reports |= self.client.context > 0  # An agent that reports its context reports its turns.
        plan, turn.plan = turn.plan, None
        dollars = None if cost is None else max(0.0, cost - self._counted_cost)
        self._counted_cost = cost if cost is not None else self._counted_cost
        return Reply(
            parts=turn.take_parts(),
            ended=ended,
            reason=str(response.stop_reason) if response else '',
            usage=reported_usage(response) if response else None,
            dollars=dollars,
            plan=plan,
        )

    def _result(self, call: Call | None) -> tuple[str, bool]:
        if call is None:
            return 'This was cut off, and what became of it is not known.', False
        text = call.result(self.client.outputs)
        if call.has_ended:
            return text, call.status == 'completed'
        return text or 'It ended without a result.', False

    async def _response(self, prompt: asyncio.Task[Any]) -> Any:
        assert self._process is not None
        try:
            return await prompt
        except ConnectionError:
            raise self._name_agent(self.client.problem or await self._process.exit_error()) from None
        except Exception as error:
            raise self._name_agent(turn_error(error)) from error

    async def _wait_for_update(self, first: Call | None, *, patient: bool = False) -> None:
        """Wait for updates. Raises `ModelError` if there are none for too long, or too many."""
        client = self.client
        if client.problem is not None:
            raise self._name_agent(client.problem)
        now = asyncio.get_running_loop().time()
        left = self.agent.idle - (now - client.last_activity)
        waits = any(call.is_waiting for call in client.turn.calls.values())
        if left <= 0 and not (patient or waits):
            problem = f'it has said nothing for {self.agent.idle:g} s'
            raise self._name_agent(ModelError(problem, kind='timeout', retryable=True))
        timeout = self.agent.idle if patient or waits else left
        if first is not None:
            timeout = min(timeout, max(0.01, first.since + SETTLE_SECONDS - now))
        client.changed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(client.changed.wait(), timeout)

    def _name_agent(self, error: ModelError) -> ModelError:
        """Prefix the error with the agent's name, and set the maximum wait for a limit."""
        name, error.patience = f'{self.agent.name}: ', self.agent.patience
        if not error.problem.startswith(name):
            error.problem = f'{name}{error.problem}'
            error.args = (error.problem,)
        return error


def _version() -> str:
    try:
        return version('hemicycle')
    except PackageNotFoundError:
        return '0'


async def set_mode(
    connection: ClientSideConnection,
    session: str,
    opened: schema.NewSessionResponse | schema.LoadSessionResponse | None,
    agent: ExternalAgent,
    approvals: Approvals,
) -> None:
    """Set the mode in which an agent asks for the approvals; some start in another.

    Args:
        connection: the connection to it.
        session: the session's id.
        opened: the answer when the session began or was resumed.
        agent: names the mode.
        approvals: what waits for a person.

    Raises:
        ModelError: it does not offer the configured mode, or offers none that is known to ask for the
            approvals.
    """
    mode_id = agent.mode_for(approvals)
    option = _option(opened)
    if opened and opened.modes:
        now, offered = opened.modes.current_mode_id, [mode.id for mode in opened.modes.available_modes]
    elif option:
        now, offered = option.current_value, _values(option)
    else:
        now, offered = '', []
    if mode_id in ('', now):
        return
    if mode_id not in offered:
        if agent.mode or (offered and approvals != 'none'):
            has = f'it has {", ".join(offered)}' if offered else 'it has none'
            hint = '' if agent.mode else f'; choose one as mode in [agents.{agent.name}]'
            raise ModelError(f'mode: it has no mode {mode_id!r}; {has}{hint}', kind='bad request')
        log.info('%s has no mode %s', agent.name, mode_id)
    elif opened and opened.modes:
        await connection.set_session_mode(session_id=session, mode_id=mode_id)
    elif option:
        await connection.set_config_option(session_id=session, config_id=option.id, value=mode_id)


def _option(
    opened: schema.NewSessionResponse | schema.LoadSessionResponse | None,
) -> schema.SessionConfigOptionSelect | None:
    for option in (opened.config_options if opened else None) or []:
        if isinstance(option, schema.SessionConfigOptionSelect) and OPTION in (option.category, option.id):
            return option
    return None


def _values(option: schema.SessionConfigOptionSelect) -> list[str]:
    values: list[str] = []
    for item in option.options:
        group = item.options if isinstance(item, schema.SessionConfigSelectGroup) else [item]
        values += [choice.value for choice in group]
    return values
