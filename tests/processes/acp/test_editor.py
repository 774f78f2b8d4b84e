"""`hemicycle agent serve`, driven by the protocol's official client as an editor would."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import PROTOCOL_VERSION, RequestError, schema, spawn_agent_process, text_block

from engine.workspace import Sandbox
from tests.processes.acp.conductor import ODD
from tests.support.harness import until
from tests.tree import ROOT

PATIENT = {'shutdown_timeout': 60}
"""Seconds to exit after stdin is closed: on a busy machine the library's default of two is too short."""
DEBUG = 'The spans tests fail: find the bug and fix it'


class Editor:
    """Acts as an editor: records updates, answers, and writes files."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.shown: list[Any] = []
        self.asked: list[Any] = []
        self.written: dict[str, str] = {}

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.shown.append(update)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **more: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append(tool_call)
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome='selected', option_id=self.answer)
        )

    async def write_text_file(
        self, session_id: str, path: str, content: str, **more: Any
    ) -> schema.WriteTextFileResponse:
        self.written[path] = content
        return schema.WriteTextFileResponse()

    def of(self, kind: type) -> list[Any]:
        return [update for update in self.shown if isinstance(update, kind)]


@asynccontextmanager
async def open_session(editor: Editor, tmp_path: Path, *options: str) -> AsyncIterator[tuple[Any, str, Any]]:
    """Open a session with Hemicycle in a folder that holds a sample project."""
    project = tmp_path / 'project'
    shutil.copytree(ROOT / 'assets' / 'scenarios' / 'projects' / 'spans', project)
    home = {'HEMICYCLE_HOME': str(tmp_path / 'home'), 'HEMICYCLE_ENDPOINTS': str(tmp_path / 'none')}
    env = {**os.environ, **home, 'PYTHONPATH': str(ROOT)}
    command = ('-m', 'ui', 'agent', 'serve', '--pace', '0', '--database', str(tmp_path / 'runs.db'), *options)
    client: Any = editor
    async with spawn_agent_process(
        client, sys.executable, *command, env=env, cwd=tmp_path, transport_kwargs=PATIENT
    ) as (connection, _):
        files = schema.FileSystemCapabilities(write_text_file=True)
        info = await connection.initialize(
            PROTOCOL_VERSION, client_capabilities=schema.ClientCapabilities(fs=files)
        )
        assert info.agent_info is not None and info.agent_info.name == 'hemicycle'
        session = await connection.new_session(cwd=str(project))
        yield connection, session.session_id, session


@pytest.mark.parametrize('answer', ['once', 'no'])
async def test_a_run_is_shown_and_its_files_are_written_if_allowed(
    answer: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    editor = Editor(answer)
    async with open_session(editor, tmp_path, '--pattern', 'debugger') as (connection, session, _):
        ended = await asyncio.wait_for(connection.prompt(session_id=session, prompt=[text_block(DEBUG)]), 200)
        await until(lambda: editor.of(schema.AgentMessageChunk))
    assert ended.stop_reason == 'end_turn' and ended.usage.total_tokens > 0
    plans, calls = editor.of(schema.AgentPlanUpdate), editor.of(schema.ToolCallStart)
    assert plans and plans[-1].entries[0].content == 'debugger'
    assert any(call.kind == 'execute' for call in calls)
    assert 'Simulated: the scripted model wrote this' in editor.of(schema.AgentMessageChunk)[-1].content.text
    source = tmp_path / 'project' / 'spans.py'
    offered = next((call for call in editor.asked if call.title.startswith('Write ')), None)
    assert offered is not None, (editor.asked, editor.of(schema.AgentMessageChunk))
    assert offered.content[0].path == str(source) and 'max(merged[-1][1], end)' in offered.content[0].new_text
    assert set(editor.written) == ({str(source)} if answer == 'once' else set())
    assert 'max(merged' not in source.read_text()  # an editor writes its files itself


async def test_patterns_are_modes_and_a_cancelled_prompt_says_so(tmp_path: Path) -> None:
    editor = Editor('once')
    async with open_session(editor, tmp_path, '--pattern', 'pipeline', '--pace', '5') as (
        connection,
        session,
        new_session,
    ):
        modes = {mode.id for mode in new_session.modes.available_modes}
        assert {'pipeline', 'race', 'builder', 'parallel-review'} <= modes
        assert new_session.modes.current_mode_id == 'pipeline'
        with pytest.raises(RequestError, match='Invalid params'):
            await connection.set_session_mode(mode_id='nothing', session_id=session)
        prompt = asyncio.ensure_future(
            connection.prompt(session_id=session, prompt=[text_block('Count the bees')])
        )
        await until(lambda: editor.of(schema.AgentThoughtChunk))
        await connection.cancel(session_id=session)
        assert (await asyncio.wait_for(prompt, 60)).stop_reason == 'cancelled'


LONE = """from pydantic import BaseModel

from engine import Pattern, agent


class Lone(Pattern):
    \"\"\"One agent at work.\"\"\"

    class Parameters(BaseModel):
        task: str = 'work'

    initial = 'at_work'
    states = [agent('at_work', 'worker'), {'name': 'fine', 'final': True}]
    transitions = [['done', 'at_work', 'fine']]

    def prompt_at_work(self, memory):
        return 'Do the work.'
"""


async def test_an_agents_question_becomes_the_editors_permission_request(tmp_path: Path) -> None:
    """The whole chain: an external agent asks Hemicycle, and Hemicycle asks the editor."""
    (tmp_path / 'patterns').mkdir()
    (tmp_path / 'patterns' / 'lone.py').write_text(LONE)
    command = f'command = "{sys.executable}"\nargs = ["{ODD}", "asks"]'
    (tmp_path / 'none').write_text(f'[agents.odd]\n{command}\nsandboxed = false\n')
    options = ('--patterns', str(tmp_path / 'patterns'), '--pattern', 'lone', '--model', 'agent:odd')
    editor = Editor('no')
    async with open_session(editor, tmp_path, *options) as (connection, session, _):
        prompt = connection.prompt(session_id=session, prompt=[text_block('go')])
        assert (await asyncio.wait_for(prompt, 100)).stop_reason == 'end_turn'
        await until(
            lambda: 'allowed: False' in str(editor.shown)
        )  # the client delivers updates in separate tasks
    (request,) = editor.asked
    assert 'rm -r build' in str(request.title)
