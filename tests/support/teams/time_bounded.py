"""A time-bounded team with members configured by a test; its code and its tests are real."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from engine import Catalog, Conductor, LocalConductor
from engine.errors import ToolError
from engine.journal import Journal, MemoryJournal
from engine.models.protocol import ModelRequest
from engine.records import Outcome, RunId, View
from engine.workspace import CommandResult, Sandbox, Workspace
from tests.support.clocks import IdleClock
from tests.support.harness import FakeModel, calls

GOOD = 'def double(x):\n    return 2 * x\n'
BAD = 'def double(x):\n    return 3 * x\n'
TEST = 'from double import double\n\n\ndef test_double():\n    assert double(2) == 4\n'
PLAN = {
    'analysis': 'Two things are to be done.',
    'steps': [
        {'description': 'Write double', 'complexity': 'simple', 'depends_on': []},
        {'description': 'Test it once more', 'complexity': 'simple', 'depends_on': [1]},
    ],
}
Answer = Callable[[ModelRequest], Any]


def verdict(score: int = 90, **more: Any) -> dict[str, Any]:
    """Return every field that any verdict may ask for."""
    return {'score': score, 'approved': score >= 60, 'summary': f'scored {score}', 'issues': [], **more}


def leaf(request: ModelRequest) -> str:
    """The last name of the agent's state: `coding`, `reviewing_step` ..."""
    return request.hints.state.rpartition('.')[2]


def write(request: ModelRequest, code: str = GOOD, test: str = TEST, mark: int | None = None) -> Any:
    """The coder: writes both files in its first turn, and reports in its second."""
    if request.hints.turn == 0:
        visit = request.hints.visit if mark is None else mark
        return calls(
            ('write_file', {'path': 'double.py', 'text': f'# {visit}\n{code}'}),
            ('write_file', {'path': 'test_double.py', 'text': f'# {visit}\n{test}'}),
        )
    return {'summary': 'It is written.', 'files': ['double.py'], 'tests': ['test_double.py']}


def bad_at_first(request: ModelRequest) -> Any:
    """Write wrong code at the first visit and correct code afterwards."""
    return write(request, BAD if request.hints.visit == 1 else GOOD)


SUITED: dict[str, dict[str, Any]] = {
    'reviewing': {'actionable': True, 'reasonable': True},
    'reviewing_code': {'addresses_step': True},
    'reviewing_fixes': {},
    'reviewing_step': {'evidence': 'The tests pass.'},
    'judging': {'goal_met': True, 'evidence': 'All tests pass.'},
}


def good(request: ModelRequest) -> Any:
    """A team that does everything well."""
    where = leaf(request)
    if where == 'writing':
        return PLAN
    if where == 'coding':
        return write(request)
    if where == 'exploring':
        return {'passed': True, 'summary': 'Nothing is wrong.', 'coverage': 80}
    return verdict(**SUITED[where])


def team(**members: Answer | Any) -> Answer:
    """A good team except in some states: `coding=...` is the coder's answer, or a function of the request."""

    def reply(request: ModelRequest) -> Any:
        other = members.get(leaf(request))
        if other is None:
            return good(request)
        return other(request) if callable(other) else other

    return reply


class QuickSandbox(Sandbox):
    """Runs no program: `check` passes if `double.py` is right; everything else fails."""

    async def run(self, command: Any, workspace: Workspace, *how: Any, **more: Any) -> CommandResult:
        try:
            right = '2 * x' in (await workspace.read('double.py')).decode()
        except ToolError:
            right = False
        return CommandResult(
            code=0 if right else 1, output='' if right else '3 != 4', ended='exit', seconds=0.1
        )


def make_conductor(
    reply: Answer, *, journal: Journal | None = None, clock: Any = None, model: FakeModel | None = None
) -> Conductor:
    """A conductor with such a team."""
    catalog = Catalog.load()
    catalog.models['scripted'] = model or FakeModel(reply)  # type: ignore[assignment]
    return LocalConductor(
        journal or MemoryJournal(),
        catalog=catalog,
        clock=clock or IdleClock(),
        owner='me',
        sandbox=QuickSandbox(),
    )


QUICK = {'primary_goal': 'Write double', 'test_command': 'check', 'wait_for_time': 0}


async def begin(conductor: Conductor, **parameters: Any) -> RunId:
    return (await conductor.start('time-bounded', {**QUICK, **parameters})).id


async def play(reply: Answer, **parameters: Any) -> tuple[Outcome, list[Any]]:
    """Run it to its end and audit it; returns the outcome and the steps."""
    async with make_conductor(reply) as conductor:
        run = await begin(conductor, **parameters)
        outcome = await conductor.result(run)
        steps = await conductor.transitions(run)
        assert await conductor.audit(run) == len(steps)
        return outcome, steps


def kinds(memory: Any) -> list[str]:
    """The types of the messages, in order."""
    return [message['type'] for message in memory['messages']]


async def reaches(conductor: Conductor, run: RunId, state: str) -> View:
    """The run's view once a state of that name is active."""
    for _ in range(20_000):
        view = await conductor.view(run)
        if any(state in path for path in view.active):
            return view
        assert not view.status.ended, view.error
        await asyncio.sleep(0.001)
    raise AssertionError(f'{state} was not reached: {view.active}')
