"""External agents as workers: their text, calls, questions and costs become steps of the run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine import Budget, Conductor, EventRefused, InvalidInput, Pattern, Status
from engine.agents.chart import agent
from engine.records import RunId
from engine.tools.acp.known_agents import ExternalAgent
from engine.workspace import Sandbox
from tests.processes.acp.conductor import BY_ODD, conductor_with, lone, odd
from tests.support.harness import until, wait_for_state
from ui.formatting.tool_calls import CallContext
from ui.web.replay.conversation import agent_blocks

WORK = 'at_work'


class Pair(Pattern):
    """Two agents, one after the other."""

    initial = 'one'
    states = [agent('one', prompt='ask'), agent('two', prompt='ask'), {'name': 'over', 'final': True}]
    transitions = [['done', 'one', 'two'], ['done', 'two', 'over']]

    def ask(self, memory: Any) -> str:
        return 'Do the work.'


async def play(external_agent: ExternalAgent, **options: Any) -> tuple[Any, Any, Conductor, RunId]:
    async with conductor_with(external_agent) as conductor:
        run = (await conductor.start('lone', models=BY_ODD, **options)).id
        outcome = await conductor.result(run)
        view = await conductor.view(run)
        assert await conductor.audit(run)
        return outcome, view, conductor, run


async def test_messages_thoughts_and_plans_are_journaled_but_not_pieces() -> None:
    async with conductor_with(odd('plain')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        streamed = [item async for item in conductor.watch(run) if not hasattr(item, 'event')]
        outcome, view = await conductor.result(run), await conductor.view(run)
        steps = await conductor.transitions(run)
    assert outcome.status is Status.DONE and outcome.answer == 'one two'
    worker = view.agents[WORK]
    assert [part['kind'] for part in worker['messages'][-1]['parts']] == ['reasoning', 'text']
    assert worker['plan'] == [{'content': 'Answer', 'status': 'in_progress', 'priority': 'high'}]
    assert worker['model'] == 'agent:odd' and view.origins == ('live',)
    assert ''.join(piece.text for piece in streamed if piece.kind == 'text') == 'one two'
    assert [step.event.name for step in steps] == ['start', 'done', 'done']


async def test_reported_usage_is_counted() -> None:
    _, view, _, _ = await play(odd('counts'))
    assert (view.usage.input, view.usage.output, view.usage.dollars) == (20, 10, 0.25)
    assert view.usage.source == 'provider' and view.usage.unpriced == 0


async def test_reported_usage_of_a_turn_with_calls_is_counted_once() -> None:
    """Until then usage is estimated and marked."""
    _, view, here, run = await play(odd('counts_calls'))
    assert len(view.agents[WORK]['messages']) == 4
    assert (view.usage.input, view.usage.output, view.usage.calls) == (2_000, 1_000, 1)
    assert view.usage.source == view.spending[WORK].total.source == 'provider'
    before = await here.view(run, 2)
    assert 0 < before.usage.input < 100 and before.usage.source == 'estimated'


async def test_unreported_usage_is_estimated_and_marked() -> None:
    _, view, _, _ = await play(odd('plain'))
    assert view.usage.input > 0 and view.usage.output > 0
    assert view.usage.source == 'estimated' and view.usage.unpriced == 1


@pytest.mark.parametrize('limit', [{'cost': 0.2}, {'tokens': 25}])
async def test_reported_usage_counts_against_the_budget(limit: dict[str, Any]) -> None:
    """The turn that spends the budget ends, and no other starts."""
    async with conductor_with(odd('counts'), Pair) as conductor:
        run = (await conductor.start('pair', models=BY_ODD, budget=Budget(**limit))).id
        outcome = await asyncio.wait_for(conductor.result(run), 60)
        view = await conductor.view(run)
    assert outcome.status is Status.FAILED and 'budget' in outcome.error.lower(), outcome
    assert (view.usage.calls, view.usage.dollars) == (1, 0.25)


async def test_files_and_commands_go_through_the_workspace(sandbox: Sandbox) -> None:
    outcome, view, _, _ = await play(odd('writes'))
    assert outcome.answer == 'two 0', outcome.error
    result = view.agents[WORK]['messages'][-2]['parts'][0]
    assert result['text'] == 'one\ntwo\n' and result['ok'] and result['name'] == 'execute'
    assert view.files[WORK]


async def test_output_of_the_agents_own_terminal_is_shown() -> None:
    _, view, _, _ = await play(odd('runs_itself'))
    blocks = [block for block in agent_blocks(view.agents[WORK], CallContext()) if block['kind'] == 'tool']
    assert [(block['title'], block['text'], block['ok']) for block in blocks] == [
        ('execute', 'one\ntwo\nIt ended with status 2.', False),
        ('read', 'a.txt', True),
    ]


async def test_a_permission_holds_for_exactly_one_call() -> None:
    async with conductor_with(odd('asks')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        view = await wait_for_state(conductor, run, f'{WORK}.approving')
        assert view.status is Status.WAITING
        call = view.agents[WORK]['messages'][-1]['parts'][-1]
        assert call['name'] == 'execute' and 'rm -r build' in call['arguments']
        with pytest.raises(EventRefused):
            await conductor.send(
                run, 'approve', at=f'{WORK}.approving', data={'arguments': {call['id']: '{}'}}
            )
        await conductor.send(run, 'approve', at=f'{WORK}.approving')
        outcome = await conductor.result(run)
        files = await conductor.workspaces.files(run, (await conductor.view(run)).files[WORK])
    assert outcome.answer == 'allowed: True'
    assert [file.path for file in files] == ['removed.txt']


async def test_denied_calls_are_not_made() -> None:
    async with conductor_with(odd('asks')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        await wait_for_state(conductor, run, f'{WORK}.approving')
        await conductor.send(run, 'deny', at=f'{WORK}.approving', data={'reason': 'no'})
        outcome = await conductor.result(run)
        files = await conductor.workspaces.files(run, (await conductor.view(run)).files[WORK])
    assert outcome.answer == 'allowed: False' and files == []


async def test_calls_without_approval_are_shown_as_running() -> None:
    async with conductor_with(odd('asks_and_hangs')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD, approvals='none')).id
        await wait_for_state(conductor, run, f'{WORK}.using_tools')
        await conductor.cancel(run, 'enough')


async def test_a_late_permission_request_is_asked() -> None:
    async with conductor_with(odd('asks_late')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        await wait_for_state(conductor, run, f'{WORK}.approving')
        await conductor.send(run, 'approve', at=f'{WORK}.approving')
        assert (await conductor.result(run)).answer == 'allowed: True'


@pytest.mark.parametrize(('run_says', 'agent_says'), [('none', 'marked'), (None, 'none')])
async def test_without_approvals_nobody_is_asked(run_says: Any, agent_says: Any) -> None:
    outcome, _, _, _ = await play(odd('asks', approvals=agent_says), approvals=run_says)
    assert outcome.answer == 'allowed: True'


@pytest.mark.parametrize(('run_says', 'agent_says'), [('all', 'none'), (None, 'all')])
async def test_with_all_approvals_files_and_commands_wait_too(
    sandbox: Sandbox, run_says: Any, agent_says: Any
) -> None:
    messages = []
    async with conductor_with(odd('writes', approvals=agent_says)) as conductor:
        run = (await conductor.start('lone', models=BY_ODD, approvals=run_says)).id
        for _ in range(2):
            view = await wait_for_state(conductor, run, f'{WORK}.approving')
            messages.append(view.agents[WORK]['messages'][-1]['parts'][-1]['name'])
            await conductor.send(run, 'approve', at=f'{WORK}.approving')
        outcome = await conductor.result(run)
    assert messages == ['edit', 'execute'] and outcome.answer == 'two 0'


async def test_an_agent_may_not_leave_its_folder(sandbox: Sandbox) -> None:
    outcome, _, _, _ = await play(odd('outside'))
    lines = outcome.answer.splitlines()
    assert len(lines) == 5 and all(': refused: ' in line for line in lines), outcome.answer
    assert 'it is outside' in lines[0] and 'leads outside' in lines[3]


async def test_output_before_the_protocol_starts_is_ignored() -> None:
    assert (await play(odd('greets')))[0].answer == 'one two'


@pytest.mark.parametrize('how', ['by_mode', 'by_option'])
async def test_the_agent_runs_in_the_mode_that_asks_for_approval(how: str) -> None:
    """Claude and Codex start in a mode in which a model decides and no person is asked."""
    fields: dict[str, Any] = {
        'modes': {'marked': 'manual'},
        'approval_variables': {'marked': {'ODD_ASKS': 'it asks'}},
    }
    manual = odd('asks_in_manual', env={'ODD_MODES': how}, **fields)
    async with conductor_with(manual) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        await wait_for_state(conductor, run, f'{WORK}.approving')
        await conductor.send(run, 'deny', at=f'{WORK}.approving', data={'reason': 'no'})
        assert (await conductor.result(run)).answer == 'manual: False, it asks'
        free = (await conductor.start('lone', models=BY_ODD, approvals='none')).id
        assert (await conductor.result(free)).answer == 'auto: True, no variable'


@pytest.mark.parametrize(('how', 'has'), [('by_mode', 'it has auto, manual'), ('', 'it has none')])
async def test_an_unknown_mode_lists_the_known_ones(how: str, has: str) -> None:
    outcome, _, _, _ = await play(odd('asks_in_manual', env={'ODD_MODES': how}, mode='plan'))
    assert outcome.status is Status.FAILED and f"it has no mode 'plan'; {has}" in outcome.error


async def test_an_agent_without_its_asking_mode_is_refused() -> None:
    newer = odd('asks_in_manual', env={'ODD_MODES': 'by_mode'}, modes={'marked': 'ask'})
    outcome, _, _, _ = await play(newer)
    assert outcome.status is Status.FAILED
    assert "it has no mode 'ask'; it has auto, manual; choose one as mode in [agents.odd]" in outcome.error


async def test_a_missing_agent_is_refused_at_the_start() -> None:
    absent = ExternalAgent(name='odd', command='no-such-agent', install='make install-odd')
    async with conductor_with(absent) as conductor:
        with pytest.raises(
            InvalidInput, match=r"models: agent:odd: there is no program 'no-such-agent'.*make"
        ):
            await conductor.start('lone', models=BY_ODD)
        with pytest.raises(InvalidInput, match='effort'):
            await conductor.start('lone', models=BY_ODD, effort={'': 'high'})
    async with conductor_with(odd('plain', sandboxed=True, confines_itself=True)) as conductor:
        with pytest.raises(InvalidInput, match='approvals: agent:odd: in the sandbox it cannot ask'):
            await conductor.start('lone', models=BY_ODD, approvals='all')
    async with conductor_with(odd('plain')) as conductor:
        with pytest.raises(InvalidInput, match='name it alone'):
            await conductor.start('lone', models={'': 'agent:odd, scripted'})


async def test_a_timeout_ends_the_agent(sandbox: Sandbox) -> None:
    async with conductor_with(odd('hang'), lone(within=3.0)) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        assert (await conductor.result(run)).status is Status.FAILED


async def test_an_agents_home_is_deleted_with_its_run(sandbox: Sandbox) -> None:
    """Its sign-in is copied there, and Codex stores its environment there, keys included."""
    async with conductor_with(odd('asks', sandboxed=True)) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        await wait_for_state(conductor, run, f'{WORK}.approving')
        home = conductor.workspaces.agent_home(run, WORK)
        assert home.is_dir()
        await conductor.send(run, 'approve', at=f'{WORK}.approving')
        await conductor.result(run)
        await until(lambda: not home.parent.exists())
        assert conductor.workspaces.of(run, WORK).folder.is_dir()


async def test_an_agent_signs_in_with_the_key_of_its_environment() -> None:
    async with conductor_with(odd('wants_key', login='api-key')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        outcome = await asyncio.wait_for(conductor.result(run), 60)
        assert outcome.status is Status.DONE, outcome.error
        assert (conductor.workspaces.of(run, WORK).folder / 'log.txt').read_text() == 'signed in by api-key\n'
    for login in ('', 'other'):
        async with conductor_with(odd('wants_key', login=login)) as conductor:
            outcome = await asyncio.wait_for(
                conductor.result((await conductor.start('lone', models=BY_ODD)).id), 60
            )
            assert outcome.status is Status.FAILED


async def test_an_agent_that_reads_files_itself_is_not_offered_ours() -> None:
    async with conductor_with(odd('plain', reads_files=True)) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        await asyncio.wait_for(conductor.result(run), 60)
        assert (conductor.workspaces.of(run, WORK).folder / 'log.txt').read_text() == 'reads by itself\n'
