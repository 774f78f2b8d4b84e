"""Agents that work on projects: their claims are checked against what happened in the sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog, Conductor, LocalConductor, Status, ToolContext
from engine.errors import ToolError
from engine.journal import MemoryJournal
from engine.models.scripted.library import FOLDER, scenarios
from engine.models.scripted.model import Scripted
from engine.records import Outcome, RunId, View
from engine.tools.builtin.project.navigate import navigate
from engine.workspace import Sandbox, Workspaces
from tests.support.harness import FakeModel, calls, until, wait_for_state


async def play(pattern: str, folder: Path = FOLDER, **changed: Any) -> tuple[Outcome, View, str, Conductor]:
    """Play the sample of a pattern; also returns the text of the changed file."""
    sample = scenarios(pattern)[0]
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0, folder=folder)
    async with LocalConductor(MemoryJournal(), catalog=catalog) as conductor:
        run = (await conductor.start(pattern, {**sample.parameters, **changed})).id
        outcome = await conductor.result(run)
        view = await conductor.view(run)
        files = await conductor.workspaces.files(run, view.files['work'])
        main = next((file for file in files if file.path in ('spans.py', 'slugs.py')), None)
        text = (await conductor.workspaces.content(run, main.digest)).decode() if main else ''
        assert await conductor.audit(run)
    return outcome, view, text, conductor


def artifacts(view: View) -> dict[str, Any]:
    return {name: item['value'] for name, item in view.agents['working']['artifacts'].items()}


async def test_the_debugger_fixes_the_bug_and_the_projects_tests_pass(sandbox: Sandbox) -> None:
    outcome, view, text, _ = await play('debugger')
    assert outcome.status is Status.DONE, outcome.error
    assert 'max(merged[-1][1], end)' in text
    assert artifacts(view)['test_result'] is True and artifacts(view)['test_report'].startswith('7 passed in')
    assert 'all 7 tests pass' in outcome.answer and 'TASK_COMPLETE' not in outcome.answer


async def test_with_another_bug_the_scripted_debugger_fails(sandbox: Sandbox, tmp_path: Path) -> None:
    text = (FOLDER / 'debugger-spans.yaml').read_text()
    right = 'max(merged[-1][1], end))'
    assert right in text
    (tmp_path / 'debugger-spans.yaml').write_text(text.replace(right, 'min(merged[-1][1], end))'))
    outcome, view, _, _ = await play('debugger', tmp_path)
    assert outcome.status is Status.FAILED
    assert 'a run of all tests after the last change, without failures' in outcome.error
    assert artifacts(view)['test_result'] is False


async def test_without_a_bug_the_debugger_finds_nothing(sandbox: Sandbox) -> None:
    outcome, _, text, _ = await play('debugger', project='sample:slugs')
    assert outcome.status is Status.FAILED and 'def slugify' in text


async def test_the_builder_adds_a_function_with_tests_and_commits_it(sandbox: Sandbox) -> None:
    outcome, view, text, _ = await play('builder')
    assert outcome.status is Status.DONE, outcome.error
    assert 'def unique(' in text and 'while found in taken' in text
    results = [
        part for message in view.agents['working']['messages'] for part in message['parts']
        if part['kind'] == 'result' and part['name'] == 'run_tests'
    ]  # fmt: skip
    assert results[0]['text'].startswith('6 passed, 1 failed') and results[1]['text'].startswith('7 passed')


async def test_the_reviewer_judges_a_real_diff_and_changes_nothing(sandbox: Sandbox) -> None:
    outcome, view, text, _ = await play('code-reviewer')
    assert outcome.status is Status.DONE, outcome.error
    review = artifacts(view)['review']
    assert review['verdict'] == 'request changes' and len(review['findings']) == 4
    assert outcome.answer.startswith('**Request changes.**') and '`slugs.py:12`' in outcome.answer
    lines = text.split('\n')
    assert 'if title in SEEN' in lines[11] and lines[6].startswith('SEEN = {}') and 'SEEN[title]' in lines[15]


async def test_a_change_that_does_not_apply_fails_at_once(sandbox: Sandbox) -> None:
    patch = (FOLDER / 'code' / 'slugs-cut.patch').read_text().replace('import unicodedata', 'import other')
    sample = scenarios('code-reviewer')[0].parameters
    async with LocalConductor(MemoryJournal()) as conductor:
        outcome = await conductor.result(
            (await conductor.start('code-reviewer', {**sample, 'change': patch})).id
        )
    assert outcome.status is Status.FAILED and 'the change does not apply to the project' in outcome.error


async def test_the_triager_names_component_file_and_line(sandbox: Sandbox) -> None:
    outcome, view, _, _ = await play('triager')
    assert outcome.status is Status.DONE, outcome.error
    triage = artifacts(view)['triage']
    assert (triage['component'], triage['file'], triage['line']) == ('units', 'weather/units.py', 6)
    assert (
        triage['evidence'][0].startswith('celsius(50) gave 32.4') and artifacts(view)['test_result'] is False
    )
    assert outcome.answer.startswith('**units** (`weather/units.py:6`, high)')


async def test_a_later_change_invalidates_test_results(sandbox: Sandbox) -> None:
    replies = [
        calls(('run_tests', {'keyword': 'touching'})),
        calls(('run_tests', {})),
        calls(('run_command', {'command': 'cat slugs.py'}), ('git', {'arguments': ['status']})),
        calls(('run_command', {'command': 'echo "x = 1" >> slugs.py'})),
        'TASK_COMPLETE',
    ]
    test_results: list[Any] = []
    model = FakeModel(lambda request: replies[min(request.hints.turn, 4)])
    catalog = Catalog.load()
    catalog.models['scripted'] = model  # type: ignore[assignment]
    async with LocalConductor(MemoryJournal(), catalog=catalog) as conductor:
        run = (await conductor.start('builder', {'request': 'anything', 'project': 'sample:slugs'})).id
        outcome = await conductor.result(run)
        for step in await conductor.transitions(run):
            if step.event.data.get('results'):
                view = await conductor.view(run, step.seq)
                test_results.append(
                    view.agents['working'].get('artifacts', {}).get('test_result', {}).get('value')
                )
        assert await conductor.audit(run)
    assert test_results == [False, True, True, None], 'nothing fits the keyword; all; reading; a change'
    assert outcome.status is Status.FAILED and 'a run of all tests after the last change' in outcome.error


async def test_without_a_sandbox_coding_agents_fail_with_instructions() -> None:
    closed = Sandbox(_problem='Commands are off: install bubblewrap')
    async with LocalConductor(MemoryJournal(), sandbox=closed) as conductor:
        outcome = await conductor.result((await conductor.start('debugger', {'request': 'anything'})).id)
    assert outcome.status is Status.FAILED and outcome.error == 'Commands are off: install bubblewrap'


async def test_cancelling_stops_a_running_command(sandbox: Sandbox) -> None:
    model = FakeModel(calls(('run_command', {'command': 'touch begun; sleep 600'})))
    catalog = Catalog.load()
    catalog.models['scripted'] = model  # type: ignore[assignment]
    async with LocalConductor(MemoryJournal(), catalog=catalog) as conductor:
        run = (await conductor.start('builder', {'request': 'anything', 'project': 'sample:slugs'})).id
        await wait_for_state(conductor, run, 'working.using_tools')
        folder = conductor.workspaces.of(run, 'work').folder
        await until((folder / 'begun').exists)
        await conductor.cancel(run, 'enough')
        assert (await conductor.result(run)).status is Status.CANCELLED


async def test_large_output_is_cut_and_hanging_commands_are_killed(sandbox: Sandbox) -> None:
    replies = [
        calls(('run_command', {'command': 'head -c 3000000 /dev/zero | tr "\\0" x'})),
        calls(('run_command', {'command': 'sleep 600', 'seconds': 0.5})),
        'no',
    ]
    catalog = Catalog.load()
    model = FakeModel(lambda request: replies[min(request.hints.turn, 2)])
    catalog.models['scripted'] = model  # type: ignore[assignment]
    async with LocalConductor(MemoryJournal(), catalog=catalog) as conductor:
        run = (await conductor.start('builder', {'request': 'anything', 'project': 'sample:slugs'})).id
        outcome = await conductor.result(run)
        messages = (await conductor.view(run)).agents['working']['messages']
    big, hanging = (m['parts'][0]['text'] for m in messages if m['role'] == 'tool')
    assert len(big) < 25_000 and 'cut' in big
    assert 'longer than 0.5 s' in hanging or 'at its time limit' in hanging
    assert outcome.status is Status.FAILED


CODE = """import os
from a import Base as B

class Parser(B):
    limit = 3

    async def read(self):
        return os.getcwd(), self.read, limit
"""


async def test_navigation_finds_definitions_usages_and_outlines(tmp_path: Path) -> None:
    context = ToolContext(key='x', workspace=Workspaces(tmp_path).of(RunId('run'), 'agent'))
    await context.files.write('a/parser.py', CODE.encode())
    await context.files.write('broken.py', b'def read(:\n    read = 1')
    await context.files.write('notes.md', b'See limit.\nAnd unlimited.')

    async def ask(**arguments: str) -> str:
        return await navigate.run(json.dumps(arguments), context)

    assert await ask(what='definition', symbol='read') == 'a/parser.py:7: function Parser.read'
    assert await ask(what='definition', symbol='Parser.read') == 'a/parser.py:7: function Parser.read'
    assert await ask(what='definition', symbol='limit') == 'a/parser.py:5: variable limit'
    assert await ask(what='usages', symbol='limit') == 'a/parser.py:8: use limit\nnotes.md:1: use limit'
    assert await ask(what='usages', symbol='B', path='a') == 'a/parser.py:2: import B\na/parser.py:4: use B'
    assert 'broken.py:1: use read\nbroken.py:2: use read' in await ask(what='usages', symbol='read')
    assert await ask(what='outline', path='a/parser.py') == (
        'a/parser.py:4: class Parser\na/parser.py:7: function Parser.read'
    )
    assert await ask(what='definition', symbol='nobody') == 'No definition found for nobody.'
    for arguments in ({'what': 'outline'}, {'what': 'usages'}):
        with pytest.raises(ToolError):
            await ask(**arguments)


@pytest.mark.parametrize(
    ('pattern', 'project', 'status', 'message'),
    [
        ('builder', 'sample:slugs', Status.DONE, 'The agent added a module and a test'),
        ('debugger', 'sample:spans', Status.FAILED, 'not fix the failures: 5 passed, 2 failed'),
        ('triager', 'sample:weather', Status.DONE, '`tests.test_weather::test_a_day_is_reported_in_celsius`'),
    ],
)
async def test_custom_requests_are_improvised_or_fail_with_a_reason(
    sandbox: Sandbox, pattern: str, project: str, status: Status, message: str
) -> None:
    outcome, _, _, _ = await play(pattern, request='Have a look at this, please', project=project)
    assert outcome.status is status, outcome.error
    assert message in (outcome.error or outcome.answer)
    assert 'Simulated filler' in (outcome.error or outcome.answer)


async def test_a_test_run_with_a_failure_is_marked_as_failed(sandbox: Sandbox) -> None:
    _, view, _, _ = await play('triager')
    results = [
        part for message in view.agents['working']['messages'] for part in message['parts']
        if part['kind'] == 'result' and part['name'] == 'run_tests'
    ]  # fmt: skip
    assert results and not any(result['ok'] for result in results)
