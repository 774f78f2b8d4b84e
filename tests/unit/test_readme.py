"""Examples in the README and the guides: their Python code runs unchanged."""

import re

import pytest

from engine import Catalog, Conductor, Pattern, Status
from tests.tree import ROOT

README = (ROOT / 'README.md').read_text('utf-8')
GUIDES = sorted((ROOT / 'assets' / 'guide').glob('*.md'))
PAGES = [README, *(guide.read_text('utf-8') for guide in GUIDES)]
BLOCKS = [block for page in PAGES for block in re.findall(r'```python\n(.*?)```', page, flags=re.DOTALL)]


def define_pattern(block: str) -> type[Pattern]:
    names: dict[str, object] = {'__name__': 'readme'}
    exec(compile(block, 'README.md', 'exec'), names)
    found = [value for value in names.values() if isinstance(value, type) and value.__module__ == 'readme']
    return next(value for value in found if issubclass(value, Pattern))


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
        made for block in BLOCKS if 'class ' in block for made in [define_pattern(block)] if made.name == name
    )
    catalog = Catalog.load()
    catalog.add(pattern)
    async with Conductor(catalog=catalog) as conductor:
        parameters = {'checked-pipeline': {'task': 'Compare two tools'}, 'newsroom': {'objective': 'A paper'}}
        run = (await conductor.start(name, parameters.get(name, {}))).id
        outcome = await conductor.result(run)
        assert outcome.status is Status.DONE, outcome.error
        assert outcome.answer
        if name == 'checked-pipeline':
            kinds = [message['kind'] for message in outcome.memory['messages']]
            assert 'check' in kinds
        assert await conductor.audit(run) > 0


def test_every_pattern_guide_and_decision_is_named():
    for name in Catalog.load().patterns:
        assert name in README
    for guide in GUIDES:
        assert f'assets/guide/{guide.name}' in README
    index = ROOT / 'assets' / 'decisions' / 'README.md'
    for record in index.parent.glob('0*.md'):
        assert f'({record.name})' in index.read_text('utf-8')


async def test_a_person_answers_the_pattern_that_waits(monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    (panel,) = (made for block in BLOCKS if 'class Panel' in block for made in [define_pattern(block)])
    async with Conductor() as conductor:
        run = await conductor.start(panel, experts=3)
        answers = [{'again': True}, {'again': True, 'verdict': 'Not on Sundays.'}]
        async for _ in run.watch():
            view = await run.view()
            if view.waiting and answers and view.memory['rounds'] == 3 - len(answers):
                await run.send('decide', data=answers.pop(0))
        outcome = await run.result()
    assert (outcome.status, outcome.answer) == (Status.DONE, 'Not on Sundays.')
    assert sorted(said['by'] for said in outcome.memory.advice) == sorted(
        2 * ['expert1', 'expert2', 'expert3']
    )


def test_an_agent_is_a_node_of_langgraph_and_a_pipeline_runs_in_one_call(capsys, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    node = next(block for block in BLOCKS if 'StateGraph(TaskState)' in block)
    call = next(block for block in BLOCKS if 'AgentOrchestrator().process(' in block)
    names: dict[str, object] = {'__name__': 'readme'}
    exec(compile(node + call, 'patterns.md', 'exec'), names)
    assert names['found']['research']
    assert names['state'].status == 'COMPLETE'
    assert names['state'].analysis in capsys.readouterr().out
