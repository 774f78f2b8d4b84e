"""Scorers of work on real files: written by agents, tested and looked at in the sandbox."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from engine import LocalConductor, Memory
from engine.agents.chart import agent
from engine.operations.experiments import Case, Experiment, ScorerSpec, Variant
from engine.records import Launch
from engine.tools.builtin.project.read_file import read_file
from engine.tools.builtin.project.write_file import write_file
from engine.workspace import Sandbox
from tests.support.harness import FakeModel, Lone, calls, catalog

TESTS = 'from total import total\n\n\ndef test_total():\n    assert total({numbers}) == {sum}\n'
RIGHT = 'def total(numbers):\n    return sum(numbers)\n'
WRONG = 'def total(numbers):\n    return len(numbers)\n'
SCORERS = (
    ScorerSpec(name='passing', kind='tests'),
    ScorerSpec(name='written', kind='file', settings={'path': 'tot*.py'}),
    ScorerSpec(name='sums', kind='file', settings={'path': '*.py', 'contains': 'sum(numbers)'}),
    ScorerSpec(name='documented', kind='file', settings={'path': 'docs/*.md'}),
    ScorerSpec(
        name='compiles',
        kind='command',
        settings={'command': 'python3 -m py_compile total.py && cat given.txt'},
    ),
    ScorerSpec(name='three', kind='command', settings={'command': 'exit $(cat given.txt)', 'code': 3}),
)


class Coder(Lone):
    """An agent that writes a function, whose tests it is given."""

    class Parameters(BaseModel):
        style: str = 'careful'

    class Memory(Memory):
        style: str = ''

    states = (
        agent('coding', prompt='ask', tools=('read_file', 'write_file'), may_be_silent=True),
        *Lone.states[1:],
    )
    initial = 'coding'
    transitions = (['done', 'coding', 'over'], ['failed', 'coding', 'lost'])

    def ask(self, memory: Any) -> str:
        """Say how."""
        return f'Write total, {memory.style}'


class Team(Coder):
    """Two of them, each with a folder."""

    initial = 'both'
    states = (
        {
            'name': 'both',
            'parallel': [agent(name, prompt='ask', tools=('write_file',)) for name in ('one', 'two')],
        },
        *Lone.states[1:],
    )
    transitions = (['done', 'both', 'over'], ['failed', 'both', 'lost'])


def code(request: Any) -> Any:
    """Write it right or wrong, and document it only if told to be careful."""
    task = next(message.text for message in request.messages if message.role == 'user')
    if request.hints.turn:
        return 'Done.'
    if 'careful' not in task:
        return calls(('write_file', {'path': 'total.py', 'text': WRONG}))
    return calls(
        ('write_file', {'path': 'total.py', 'text': RIGHT}),
        ('write_file', {'path': 'docs/total.md', 'text': '# total'}),
    )


def case(name: str, numbers: list[int]) -> Case:
    files = {'test_total.py': TESTS.format(numbers=numbers, sum=sum(numbers)), 'given.txt': '3'}
    return Case(id=name, files=files)


async def scored(sandbox: Sandbox, **values: Any) -> tuple[Mapping[tuple[str, str], Any], list[Any]]:
    """Run an experiment; returns the values of each cell's scores, and the cells."""
    patterns = catalog(FakeModel(code), Coder, Team, tools=(read_file, write_file))
    async with LocalConductor(catalog=patterns, sandbox=sandbox) as conductor:
        await conductor.datasets.save('sums', [case('small', [1, 2]), case('large', [10, 20, 30])])
        given: dict[str, Any] = {
            'name': 'Sums',
            'dataset': 'sums',
            'base': Launch(pattern='coder'),
            'variants': (
                Variant(name='careful'),
                Variant(name='hasty', change={'parameters': {'style': 'hasty'}}),
            ),
            'scorers': SCORERS,
        }
        result = await conductor.experiment(Experiment(**(given | values)))
        assert result.experiment.state == 'done', result.experiment.reason
        scores = {
            (cell.case, cell.variant): [cell.scores[spec.name].value for spec in result.experiment.scorers]
            for cell in result.cells
        }
        return scores, list(result.cells)


async def test_work_is_scored_by_its_files_tests_and_commands(sandbox: Sandbox) -> None:
    scores, cells = await scored(sandbox)
    careful, hasty = [1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 1, 1]
    assert scores == {
        ('small', 'careful'): careful,
        ('small', 'hasty'): hasty,
        ('large', 'careful'): careful,
        ('large', 'hasty'): hasty,
    }
    reasons = {cell.variant: cell.scores for cell in cells if cell.case == 'large'}
    assert '1 passed' in reasons['careful']['passing'].reason
    assert 'assert 3 == 60' in reasons['hasty']['passing'].reason
    assert reasons['careful']['written'].reason == 'total.py'
    assert reasons['hasty']['sums'].reason == 'test_total.py, total.py: it lacks the text'
    assert reasons['hasty']['documented'].reason == 'there is no docs/*.md'
    assert reasons['hasty']['compiles'].reason.startswith('3\n')


async def test_a_folder_that_is_not_named_among_several_is_not_scored(sandbox: Sandbox) -> None:
    named = [
        ScorerSpec(
            name=f'{spec.name} of two', kind=spec.kind, settings={**spec.settings, 'agent': 'both.two'}
        )
        for spec in SCORERS
    ]
    scores, cells = await scored(
        sandbox, base=Launch(pattern='team'), variants=(Variant(name='careful'),), scorers=(*SCORERS, *named)
    )
    assert scores['small', 'careful'] == [None] * 6 + [1] * 6
    assert cells[0].scores['written'].reason == (
        'name the agent whose files to look at; there are files of: both.one, both.two'
    )
    assert cells[0].scores['passing'].reason == 'name the agent; there is work of: both.one, both.two'


async def test_a_command_that_does_not_end_is_a_failure_with_its_reason(sandbox: Sandbox) -> None:
    endless = ScorerSpec(name='ends', kind='command', settings={'command': 'echo on; sleep 60', 'seconds': 1})
    scores, cells = await scored(sandbox, variants=(Variant(name='careful'),), scorers=(endless,))
    assert scores['small', 'careful'] == [0] and cells[0].scores['ends'].reason.startswith('on\n')


async def test_without_a_sandbox_commands_are_not_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    async def problem(self: Sandbox) -> str:
        return 'there is no bubblewrap'

    monkeypatch.setattr(Sandbox, 'problem', problem)
    scores, cells = await scored(Sandbox(), variants=(Variant(name='careful'),))
    assert scores['small', 'careful'] == [None, 1, 1, 1, None, None]
    assert 'there is no bubblewrap' in cells[0].scores['compiles'].reason
