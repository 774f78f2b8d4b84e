"""Scenarios with real test runs, and folders isolated from other agents."""

from __future__ import annotations

import asyncio
import shutil
import venv
from pathlib import Path

import pytest

from engine import Catalog, LocalConductor, Status
from engine.journal import MemoryJournal
from engine.models.scripted.library import FOLDER, Library
from engine.models.scripted.model import Scripted
from engine.models.scripted.scenario import Scenario
from engine.records import Outcome
from engine.workspace import Sandbox
from tests.support.harness import FakeModel, HastyClock, calls, to_the_end
from tests.support.teams.parallel_review import actors, begin, everybody, position, review_catalog

MAX_SECONDS = 300
SHIPPED = [
    pytest.param(scenario, id=scenario.name, marks=[pytest.mark.long] if scenario.name == 'bech32' else [])
    for scenario in Library.load().scenarios
    if 'tests' in scenario.parameters
]


async def play(scenario: Scenario, sandbox: Sandbox, folder: Path = FOLDER) -> Outcome:
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0, folder=folder)
    async with LocalConductor(
        MemoryJournal(), catalog=catalog, clock=HastyClock(), sandbox=sandbox
    ) as conductor:
        parameters = {**scenario.parameters, scenario.field: scenario.task}
        run = (await conductor.start(scenario.pattern, parameters)).id
        outcome = await asyncio.wait_for(conductor.result(run), MAX_SECONDS)
        assert await conductor.audit(run)
        return outcome


@pytest.mark.parametrize('scenario', SHIPPED)
async def test_a_scenario_with_tests_plays_to_its_stated_end(scenario: Scenario, sandbox: Sandbox) -> None:
    outcome, expect = await play(scenario, sandbox), scenario.expect
    assert outcome.status == Status(expect.status), outcome.error
    assert {name: outcome.memory[name] for name in expect.memory} == expect.memory
    assert {name: len(outcome.memory[name]) for name in expect.counts} == expect.counts


async def test_the_tests_of_a_contest_run_in_the_environment_of_its_project(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    venv.create(tmp_path / '.venv', symlinks=True)
    packages = next((tmp_path / '.venv').glob('lib/python*/site-packages'))
    (packages / 'rare.py').write_text('VALUE = 7\n')
    (tmp_path / 'old.py').write_text('')
    file = {'path': 'test_new.py', 'text': 'import rare\n\n\ndef test_it():\n    assert rare.VALUE == 7\n'}
    catalog = Catalog.load()
    catalog.models['scripted'] = FakeModel(
        lambda request: 'Done.' if request.hints.turn else calls(('write_file', file))
    )
    async with LocalConductor(MemoryJournal(), catalog=catalog, sandbox=sandbox) as conductor:
        parameters = {'task': 'use rare', 'racers': 2, 'project': str(tmp_path)}
        run = (await conductor.start('race', parameters, approvals='none')).id
        outcome = await conductor.result(run)
    assert outcome.status is Status.DONE, outcome.error
    assert (
        outcome.memory['candidates'][outcome.memory['winner']]['versions'][0]['evidence']['own']['passed']
        == 1
    )


@pytest.mark.long
async def test_bech32_ends_differently_when_a_line_is_broken(sandbox: Sandbox, tmp_path: Path) -> None:
    """One bit of a constant is wrong: the vectors fail, reviewers disagree, and nothing is approved."""
    folder = tmp_path / 'scenarios'
    shutil.copytree(FOLDER, folder)
    code = folder / 'bech32' / 'coder1.py'
    broken = code.read_text().replace('0x2BC830A3', '0x2BC830A2')
    assert broken != code.read_text()
    code.write_text(broken)
    scenario = next(each for each in Library.load(folder).scenarios if each.name == 'bech32')
    outcome = await play(scenario, sandbox, folder)
    memory = outcome.memory
    assert outcome.status is Status.DONE and not memory['approved']
    assert memory['consensuses'][0]['synthesized']
    assert memory['candidates']['coder1']['versions'][0]['evidence']['required']['failed'] > 0


async def test_required_tests_cannot_be_changed_by_the_coder(sandbox: Sandbox, tmp_path: Path) -> None:
    """Neither the tests nor pytest's settings, a conftest, or its own pytest."""
    tests = tmp_path / 'given'
    tests.mkdir()
    (tests / 'test_given.py').write_text('import work\n\ndef test_it():\n    assert work.X == 2\n')
    cheat = {
        'work.py': 'X = 1\n',
        'test_given.py': 'def test_it():\n    pass\n',
        'conftest.py': 'def pytest_collection_modifyitems(items):\n    items.clear()\n',
        'pytest.ini': '[pytest]\naddopts = --co\n',
        'pytest.py': 'print("1 passed")\n',
        'sitecustomize.py': 'import os\nos._exit(0)\n',
    }

    def coder(request):
        if request.messages[-1].role == 'tool':
            return 'done'
        files = cheat if request.hints.role == 'coder1' else {'work.py': 'X = 2\n'}
        return calls(*(('write_file', {'path': path, 'text': text}) for path, text in files.items()))

    script = everybody(position('APPROVE', 'coder1'), coder1=coder, coder2=coder)
    outcome = await play_to_end(
        script, sandbox, tmp_path, tests=str(tests), command='', max_revisions=0, coders=2
    )
    memory = outcome.memory
    suites = [memory['candidates'][f'coder{n}']['versions'][0]['evidence']['required'] for n in (1, 2)]
    assert [(suite['passed'], suite['failed']) for suite in suites] == [(0, 1), (1, 0)]
    assert not memory['approved'] and memory['refusals']


async def test_more_test_files_than_fit_into_a_command_are_run(sandbox: Sandbox, tmp_path: Path) -> None:
    project = tmp_path / 'project'
    deep = project.joinpath(*['x' * 240] * 14)
    deep.mkdir(parents=True)
    for number in range(40):
        deep.joinpath(f'test_{number}.py').write_text('')
    project.joinpath('test_it.py').write_text('def test_it():\n    pass\n')
    outcome = await play_to_end(
        everybody(position('APPROVE', 'coder1')), sandbox, tmp_path, project=str(project), files='copy',
        command='', coders=1,
    )  # fmt: skip
    own = outcome.memory['candidates']['coder1']['versions'][0]['evidence']['own']
    assert (own['passed'], own['problem']) == (1, '')


async def test_coders_cannot_reach_each_others_folders(sandbox: Sandbox, tmp_path: Path) -> None:
    """Neither with file tools nor with commands, neither for reading nor writing."""
    secret = 'the work of coder2'

    def spy(request):
        if request.messages[-1].role == 'tool':
            return 'done'
        other = f'{tmp_path}/runs'
        reach = f'cat ../coder2/* ../*/done.txt; find / -name done.txt 2>/dev/null | xargs cat; ls {other}'
        write = f'echo x > ../coder2/done.txt; find {other} -name coder2 -exec touch {{}}/here \\;'
        return calls(
            ('write_file', {'path': 'mine.txt', 'text': 'mine'}),
            ('read_file', {'path': '../coder2/done.txt'}),
            ('write_file', {'path': '../coder2/done.txt', 'text': 'x'}),
            ('list_files', {'path': '..'}),
            ('search', {'pattern': 'the work'}),
            ('run_command', {'command': 'ln -s ../coder2 other; cat other/done.txt'}),
            ('read_file', {'path': 'other/done.txt'}),
            ('run_command', {'command': reach}),
            ('run_command', {'command': write}),
        )

    def victim(request):
        if request.messages[-1].role == 'tool':
            return 'done'
        return calls(('write_file', {'path': 'done.txt', 'text': secret}))

    script = everybody(position('APPROVE', 'coder2'), coder1=spy, coder2=victim)
    model = FakeModel(actors(script))
    outcome = await play_to_end(
        model, sandbox, tmp_path, command='grep -qx "the work of coder2" done.txt', coders=2
    )
    texts = [
        part.text
        for request in model.requests
        if request.hints.role == 'coder1'
        for message in request.messages
        for part in message.parts
        if message.role == 'tool'
    ]
    assert len(texts) == 9 and not [text for text in texts if secret in text]
    candidate = outcome.memory['candidates']['coder2']
    assert [file['path'] for file in candidate['versions'][0]['files']] == ['done.txt']
    assert candidate['versions'][0]['evidence']['required']['passed'] == 1
    assert outcome.memory['approved']


async def play_to_end(script, sandbox: Sandbox, root: Path, **parameters) -> Outcome:
    model = script if isinstance(script, FakeModel) else FakeModel(actors(script))
    async with LocalConductor(
        MemoryJournal(),
        catalog=review_catalog(model),
        clock=HastyClock(),
        sandbox=sandbox,
        workspaces=root / 'runs',
    ) as conductor:
        run = await begin(conductor, **parameters)
        return await asyncio.wait_for(to_the_end(conductor, run), MAX_SECONDS)
