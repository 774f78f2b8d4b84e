"""Forks with changes, several at once, reruns and retries, lineage, and forecasts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine import EventRefused, InvalidInput, Status
from engine.errors import ModelError
from engine.history import ForkOverrides, find_change
from engine.journal import MemoryJournal
from engine.records import Change
from tests.support.forks import make_conductor, run_pipeline
from tests.support.harness import FakeModel, Lone, calls, pipeline_reply, to_the_end


async def test_an_edit_is_part_of_the_first_step_of_a_fork() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run, at = await run_pipeline(conductor)
        before = await conductor.transitions(run)
        change = Change(op='replace', path='/memory/analysis', value='mine')
        fork = await conductor.fork(run, at, overrides=ForkOverrides(changes=[change]))
        await conductor.result(fork)
        first = (await conductor.transitions(fork))[at]
        assert (first.event.name, first.changes) == ('recover', (change,))
        assert (await conductor.view(fork, at + 1)).memory['analysis'] == 'mine'
        assert await conductor.audit(fork) == (await conductor.info(fork)).seq
        assert await conductor.transitions(run) == before


async def test_a_fork_is_named_by_what_it_changes_unless_it_is_given_a_title() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run, at = await run_pipeline(conductor)
        edit = Change(op='replace', path='/memory/analysis', value='mine')
        harsh = ForkOverrides(
            instructions={'reviewer': 'Be harsh.'}, changes=[edit], prompts={'reviewing': 'x'}
        )
        for overrides, given, title in (
            (ForkOverrides(), '', 'Count the bees'),
            (ForkOverrides(changes=[edit]), '', 'other analysis'),
            (ForkOverrides(models={'': 'scripted'}), '', 'all: other model'),
            (ForkOverrides(parameters={'max_iterations': 2}), '', 'other max iterations'),
            (ForkOverrides(changes=[edit]), 'Mine', 'Mine'),
        ):
            fork = await conductor.fork(run, at, title=given, overrides=overrides)
            assert (await conductor.info(fork)).title == title
        assert harsh.title == 'reviewer: other instructions, reviewing: other task, 1 more'


@pytest.mark.parametrize(
    ('variation', 'field'),
    [
        (ForkOverrides(changes=[Change(op='replace', path='/memory/nothing', value=1)]), 'nothing'),
        (ForkOverrides(changes=[Change(op='add', path='/memory/iteration', value='x')]), 'iteration'),
        (ForkOverrides(instructions={'poet': 'rhyme'}), 'instructions.poet'),
        (ForkOverrides(models={'': 'no/such'}), 'models'),
        (ForkOverrides(models={'poet': 'scripted'}), 'models.poet'),
        (ForkOverrides(tools={'researcher': ['hammer']}), 'tools.researcher'),
        (ForkOverrides(effort={'poet': 'low'}), 'effort.poet'),
        (ForkOverrides(effort={'': 'a lot'}), 'effort'),
        (ForkOverrides(effort={'researcher': 'much'}), 'effort.researcher'),
        (ForkOverrides(prompts={'nobody': 'go'}), 'prompts.nobody'),
        (ForkOverrides(parameters={'max_iterations': 'many'}), 'max_iterations'),
        (ForkOverrides(after='now'), 'after'),  # type: ignore[arg-type]
        (ForkOverrides(beyond='never'), 'beyond'),  # type: ignore[arg-type]
        (ForkOverrides(plays={'poet': 'live'}), 'plays.poet'),
    ],
)
async def test_invalid_overrides_are_refused_with_the_field(variation: ForkOverrides, field: str) -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run, at = await run_pipeline(conductor)
        with pytest.raises(InvalidInput) as refused:
            await conductor.fork(run, at, overrides=variation)
        assert list(refused.value.problems) == [field]
        assert (await conductor.runs()).total == 1


async def test_new_instructions_reach_started_and_unstarted_agents() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run, at = await run_pipeline(conductor)
        request_count = len(model.requests)
        instructions = {'reviewer': 'Be kind.', 'analyzer': 'Be brief.'}
        fork = await conductor.fork(run, at, overrides=ForkOverrides(instructions=instructions))
        await conductor.result(fork)
        heard = {request.hints.role: request.messages[0].text for request in model.requests[request_count:]}
        assert heard == instructions
        early = await conductor.fork(run, 1, overrides=ForkOverrides(instructions=instructions))
        request_count = len(model.requests)
        await conductor.result(early)
        heard = {request.hints.role: request.messages[0].text for request in model.requests[request_count:]}
        assert {role: heard[role] for role in instructions} == instructions and heard[
            'researcher'
        ] != 'Be kind.'
        assert await conductor.audit(early) and await conductor.audit(fork)


async def test_a_prompt_replaces_the_agents_last_one() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run, at = await run_pipeline(conductor)
        request_count = len(model.requests)
        await conductor.result(
            await conductor.fork(run, at, overrides=ForkOverrides(prompts={'reviewing': 'Look again.'}))
        )
        assert model.requests[request_count].messages[-1].text == 'Look again.'


async def test_models_and_tools_are_changed_by_role() -> None:
    model, other = FakeModel(pipeline_reply), FakeModel(pipeline_reply, simulated=False)
    async with make_conductor(model) as conductor:
        conductor.catalog.models['other'] = other  # type: ignore[assignment]
        run, at = await run_pipeline(conductor)
        chosen = ForkOverrides(models={'reviewer': 'other'}, tools={'researcher': ['calculator']})
        fork = await conductor.fork(run, 1, overrides=chosen)
        model.requests.clear()
        await conductor.result(fork)
        assert {request.hints.role for request in other.requests} == {'reviewer'}
        tools = {request.hints.role: [tool.name for tool in request.tools] for request in model.requests}
        assert tools['researcher'] == ['calculator'] and not (await conductor.info(fork)).simulated
        child = await conductor.fork(fork, at)
        assert (await conductor.info(child)).options['tools'] == {'researcher': ['calculator']}


async def test_a_fork_can_change_efforts() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        started_with = {'': 'low', 'reviewer': 'high'}
        run = (await conductor.start('pipeline', {'task': 'Count'}, effort=started_with)).id
        await conductor.result(run)
        model.requests.clear()
        fork = await conductor.fork(run, 1, overrides=ForkOverrides(effort={'': 'max', 'reviewer': ''}))
        await conductor.result(fork)
        assert (await conductor.info(fork)).options['effort'] == {'': 'max'}
        assert {request.effort for request in model.requests} == {'max'}
        none = await conductor.fork(fork, 1, overrides=ForkOverrides(effort={'': ''}))
        assert 'effort' not in (await conductor.info(none)).options


async def test_parameters_can_change_midway_if_the_chart_stays() -> None:
    async with make_conductor(FakeModel(lambda request: pipeline_reply(request, revisions=9))) as conductor:
        run, at = await run_pipeline(conductor)
        fork = await conductor.fork(run, at, overrides=ForkOverrides(parameters={'max_iterations': 1}))
        await conductor.result(fork)
        assert (await conductor.info(fork)).parameters['max_iterations'] == 1
        assert (await conductor.info(fork)).seq < (await conductor.info(run)).seq
        assert await conductor.audit(fork) and await conductor.audit(await conductor.fork(fork, at + 1))


async def test_a_fork_whose_pattern_has_changed_is_refused_for_that_and_named() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run, at = await run_pipeline(conductor)
        info, shape = await conductor.info(run), await conductor.shape(run)
        assert find_change(conductor.catalog, info, shape) == ''
        journal = conductor.journal
        assert isinstance(journal, MemoryJournal)
        journal._shapes[run] = replace(shape, edges=shape.edges[1:])
        with pytest.raises(EventRefused, match="its pattern 'pipeline' has changed since"):
            await conductor.fork(run, at)


async def test_a_rerun_repeats_its_original_and_joins_the_family() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run, _ = await run_pipeline(conductor)
        rerun = await conductor.rerun(run, paused=True)
        assert (await conductor.info(rerun)).status is Status.PAUSED
        await conductor.resume(rerun)
        await conductor.result(rerun)
        one, other = await conductor.info(run), await conductor.info(rerun)
        assert (other.parameters, other.models, other.seed, other.tags) == (
            one.parameters, one.models, one.seed, one.tags,
        )  # fmt: skip
        family = await conductor.lineage(rerun)
        assert (family.run, family.kind) == (run, 'root')
        assert [(kin.run, kin.kind, kin.at) for kin in family.children] == [(rerun, 'rerun', 0)]


async def test_a_retry_repeats_the_failed_call_with_all_attempts() -> None:
    broken = ModelError('it is down', kind='server', retryable=True)
    replies: list[Any] = [calls(('calculator', {'expression': '1+1'})), *[broken] * 4, broken, 'done']
    model = FakeModel(lambda request: replies.pop(0))
    async with make_conductor(model, None, Lone) as conductor:
        conductor.catalog.patterns['lone'] = Lone
        run = (await conductor.start('lone')).id
        assert (await conductor.result(run)).status is Status.FAILED
        with pytest.raises(EventRefused):
            await conductor.retry(retried := await conductor.retry(run))
        outcome = await conductor.result(retried)
        assert (outcome.status, replies) == (Status.DONE, [])
        assert (await conductor.lineage(run)).children[0].kind == 'retry'
        with pytest.raises(EventRefused, match='it has not failed'):
            await conductor.retry(retried)


async def test_a_cancelled_run_is_retried_from_the_step_before() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run = (await conductor.start('pipeline', {'task': 'Count the bees'})).id
        await conductor.pause(run)
        await conductor.cancel(run)
        retried = await conductor.retry(run)
        if (await conductor.info(retried)).status is Status.PAUSED:
            await conductor.resume(retried)
        assert (await to_the_end(conductor, retried)).status is Status.DONE


async def test_variants_share_a_group_and_have_one_winner() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run, at = await run_pipeline(conductor)
        kind, harsh = await conductor.fork_all(
            run, at, {'kind': ForkOverrides(instructions={'reviewer': 'Be kind.'}), 'harsh': ForkOverrides()}
        )
        family = await conductor.lineage(kind)
        assert [kin.run for kin in family.children] == [kind, harsh]
        assert len({kin.group for kin in family.children}) == 1 and family.children[0].group
        assert [kin.info.title for kin in family.children] == [
            'reviewer: other instructions (kind)',
            'Count the bees (harsh)',
        ]
        await conductor.mark_winner(kind)
        await conductor.mark_winner(harsh)
        family = await conductor.lineage(run)
        assert [kin.winner for kin in family.children] == [False, True]
        below = await conductor.fork(harsh, at + 1)
        assert [kin.run for kin in (await conductor.lineage(run)).children[1].children] == [below]
        with pytest.raises(InvalidInput, match='worse: instructions'):
            await conductor.fork_all(run, at, {'worse': ForkOverrides(instructions={'poet': 'x'})})


async def test_a_forecast_counts_new_calls() -> None:
    async with make_conductor(FakeModel(pipeline_reply, simulated=False)) as conductor:
        run, at = await run_pipeline(conductor)
        forecast = await conductor.forecast(run, at, ForkOverrides(before='live'))
        part = await conductor.forecast(run, at)
        used = (await conductor.info(run)).usage
        assert (forecast.calls, forecast.tokens, forecast.basis) == (used.calls, used.total, 'parent')
        assert part.calls is not None and 0 < part.calls < used.calls and not part.free
        assert part.dollars is None  # the price of that model is unknown
        some = await conductor.forecast(run, at, ForkOverrides(plays={'reviewer': 'simulated'}))
        assert some.calls is not None and some.calls < part.calls
        nothing = await conductor.forecast(run, at, ForkOverrides(after='simulated'))
        assert (nothing.calls, nothing.free) == (0, True)


async def test_a_forecast_for_an_unfinished_run_uses_other_runs() -> None:
    async with make_conductor(FakeModel(pipeline_reply, simulated=False)) as conductor:
        going = (await conductor.start('pipeline', {'task': 'Count the bees'})).id
        await conductor.pause(going)
        assert (await conductor.forecast(going, 1)).basis == 'none'
        run, _ = await run_pipeline(conductor)
        forecast = await conductor.forecast(going, 1)
        assert (forecast.basis, forecast.calls) == ('runs', (await conductor.info(run)).usage.calls)
