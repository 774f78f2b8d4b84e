"""Examples in the README and the guides: their Python code runs unchanged."""

import base64
import inspect
import json
import re
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks import Webhook

from engine import Catalog, LocalConductor, Pattern, Status, ToolContext
from engine.operations.rehearsal import PlayedEvent, play
from engine.records import RunId
from engine.workspace import Workspaces
from storage import Settings, open_journal
from tests.tree import ROOT

README = (ROOT / 'README.md').read_text('utf-8')
GUIDES = sorted((ROOT / 'assets' / 'guide').glob('*.md'))
PAGES = [README, *(guide.read_text('utf-8') for guide in GUIDES)]
BLOCKS = [block for page in PAGES for block in re.findall(r'```python\n(.*?)```', page, flags=re.DOTALL)]


def define_pattern(block: str) -> type[Pattern]:
    names: dict[str, object] = {'__name__': 'readme'}
    exec(compile(block, 'README.md', 'exec'), names)
    classes = [value for value in names.values() if isinstance(value, type) and value.__module__ == 'readme']
    return next(value for value in classes if issubclass(value, Pattern))


def test_the_program_prints_every_step_and_the_outcome(capsys, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    program = next(block for block in BLOCKS if 'asyncio.run' in block)
    exec(compile(program, 'README.md', 'exec'), {'__name__': 'readme'})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('1 start')
    assert any(line.startswith('done ') for line in lines)


@pytest.mark.parametrize('name', ['debate', 'checked-pipeline', 'newsroom'])
async def test_each_pattern_runs_to_its_end(name, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    pattern = next(
        item for block in BLOCKS if 'class ' in block for item in [define_pattern(block)] if item.name == name
    )
    catalog = Catalog.load()
    catalog.add(pattern)
    async with LocalConductor(catalog=catalog) as conductor:
        parameters = {'checked-pipeline': {'task': 'Compare two tools'}, 'newsroom': {'objective': 'A paper'}}
        run = (await conductor.start(name, parameters.get(name, {}))).id
        outcome = await conductor.result(run)
        assert outcome.status is Status.DONE, outcome.error
        assert outcome.answer
        if name == 'checked-pipeline':
            kinds = [message['kind'] for message in outcome.memory['messages']]
            assert 'check' in kinds
        assert await conductor.audit(run) > 0


def test_the_readme_names_every_pattern_and_an_index_every_page_beside_it():
    for name in Catalog.load().patterns:
        assert f'`{name}`' in README
    indexes = sorted((ROOT / 'assets').glob('*/README.md'))
    assert indexes
    for index in indexes:
        text = index.read_text('utf-8')
        for page in set(index.parent.glob('*.md')) - {index}:
            assert f'({page.name})' in text, f'{index.parent.name}/README.md does not link {page.name}'


def test_the_readme_stays_short():
    assert len(README.encode()) <= 10_000


async def test_a_person_answers_the_pattern_that_waits(monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    (panel,) = (item for block in BLOCKS if 'class Panel' in block for item in [define_pattern(block)])
    async with LocalConductor() as conductor:
        run = await conductor.start(panel, experts=3)
        answers = [{'again': True}, {'again': True, 'verdict': 'Not on Sundays.'}]
        async for _ in run.watch():
            view = await run.view()
            if view.waiting and answers and view.memory['rounds'] == 3 - len(answers):
                await run.send('decide', data=answers.pop(0))
        outcome = await run.result()
    assert (outcome.status, outcome.answer) == (Status.DONE, 'Not on Sundays.')
    assert sorted(entry['by'] for entry in outcome.memory.advice) == sorted(
        2 * ['expert1', 'expert2', 'expert3']
    )


def test_an_agent_is_a_node_of_langgraph_and_a_pipeline_runs_in_one_call(capsys, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    node = next(block for block in BLOCKS if 'StateGraph(TaskState)' in block)
    call = next(block for block in BLOCKS if 'AgentOrchestrator().process(' in block)
    names: dict[str, object] = {'__name__': 'readme'}
    exec(compile(node + call, 'patterns.md', 'exec'), names)
    assert names['result']['research']
    assert names['state'].status == 'COMPLETE'
    assert names['state'].analysis in capsys.readouterr().out


def define_function(marker: str) -> Callable[..., Coroutine[Any, Any, None]]:
    """Return the function of the example that contains the marker."""
    (block,) = (block for block in BLOCKS if marker in block)
    names: dict[str, Any] = {'__name__': 'readme'}
    exec(compile(block.replace('hemicycle.engine', 'engine'), 'guide.md', 'exec'), names)
    (function,) = (value for value in names.values() if inspect.iscoroutinefunction(value))
    return function


async def test_a_run_started_paused_is_stepped(capsys, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    async with LocalConductor() as conductor:
        await define_function('async def debug(')(conductor)
    assert 'memory.iteration >= 1' in capsys.readouterr().out


async def test_an_agent_returns_a_job_with_its_answer(capsys, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    await define_function('async def post(')()
    assert 'small tools' in capsys.readouterr().out


async def test_variants_are_compared_as_the_guide_shows(capsys, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    await define_function('async def compare(')()
    assert 'none 0.0' in capsys.readouterr().out
    names: dict[str, Any] = {'__name__': 'readme'}
    exec(next(block for block in BLOCKS if '@scorer' in block), names)
    assert names['is_short'](type('Run', (), {'answer': 'short'}), None)


def test_a_chart_is_simulated_as_the_guide_shows(capsys):
    (block,) = (block for block in BLOCKS if 'Simulator(' in block)
    exec(compile(block.replace('hemicycle.engine', 'engine'), 'patterns.md', 'exec'), {'__name__': 'readme'})
    assert capsys.readouterr().out.startswith("('analyzing.thinking',) {'researching': [{'findings':")


async def test_a_tool_is_an_async_function(tmp_path):
    (block,) = (block for block in BLOCKS if '@tool' in block)
    names: dict[str, Any] = {'__name__': 'readme'}
    exec(compile(block, 'patterns.md', 'exec'), names)
    workspace = Workspaces(tmp_path).of(RunId('run'), 'agent')
    await workspace.write('a.txt', b'one\ntwo\n')
    counted = await names['count_lines'].run('{"path": "a.txt"}', ToolContext(key='k', workspace=workspace))
    assert counted == '2'


def test_a_webhook_is_verified_as_the_guide_shows(capsys):
    (block,) = (block for block in BLOCKS if 'standardwebhooks' in block)
    secret, now = f'whsec_{base64.b64encode(bytes(24)).decode()}', datetime.now(UTC)
    body = json.dumps({'type': 'run.ended', 'data': {'run': 'r1', 'url': 'http://here/runs/r1'}})
    signature = Webhook(secret).sign('m1', now, body)
    headers = {
        'webhook-id': 'm1', 'webhook-timestamp': str(int(now.timestamp())), 'webhook-signature': signature
    }  # fmt: skip
    exec(compile(block, 'inbox.md', 'exec'), {'secret': secret, 'body': body, 'headers': headers})
    assert capsys.readouterr().out == 'run.ended r1 http://here/runs/r1\n'


async def test_a_journal_on_disk_is_opened_as_the_readme_shows(tmp_path):
    (code,) = re.findall(r'`(LocalConductor\(await .*?)`, both from `hemicycle.storage`', README)
    call = code.replace("'runs.db'", 'file').removeprefix('LocalConductor(await ').removesuffix(')')
    names = {'open_journal': open_journal, 'Settings': Settings, 'file': tmp_path / 'runs.db'}
    async with LocalConductor(await eval(call, names)) as conductor:
        assert (await conductor.runs()).total == 0
        assert await conductor.recover() == []
    assert (tmp_path / 'runs.db').is_file()


def test_an_edge_with_history_leads_back_to_where_its_state_was_left():
    class Resumed(Pattern):
        initial = 'working'
        states = (
            {
                'name': 'working',
                'initial': 'a',
                'children': [{'name': 'a', 'waits': 'on'}, {'name': 'b', 'waits': 'rest'}],
            },
            {'name': 'resting', 'waits': 'go_on'},
            {'name': 'over', 'final': True},
        )
        transitions = (
            ['on', 'working.a', 'working.b'],
            ['rest', 'working', 'resting'],
            eval(next(block for block in BLOCKS if "'history'" in block)),
            ['stop', 'resting', 'over'],
        )

    events = [PlayedEvent(name=name) for name in ('start', 'on', 'rest', 'go_on')]
    assert play(Resumed(), events)[-1].active == ('working.b',)


def test_no_example_is_left_untested():
    tested = [
        'asyncio.run', 'async def debug(', 'async def post(', 'standardwebhooks',
        'class Panel', 'class Debate', 'class CheckedPipeline', 'class Newsroom', 'StateGraph(TaskState)',
        'AgentOrchestrator().process(', '@tool', 'Simulator(', "'history'", '@scorer', 'async def compare(',
    ]  # fmt: skip
    assert [block for block in BLOCKS if not any(mark in block for mark in tested)] == []
