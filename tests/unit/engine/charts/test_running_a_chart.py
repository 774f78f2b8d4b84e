"""Charts as files: they run, rehearse, fork and audit as patterns in Python do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine import LocalConductor
from engine.charts import load_chart
from engine.history import ForkOverrides
from engine.records import Change, Event
from engine.runtime.debugger.guard_explanations import GuardExplanations
from tests.support.harness import FakeModel, catalog, complete_run

CRITIQUE = Path(__file__).parents[3] / 'support' / 'charts' / 'critique.chart.yaml'
TASK = {'task': 'A toast for Ada'}


def critique() -> Any:
    return load_chart(CRITIQUE.read_text(), name=CRITIQUE.name)


def reply(request: Any) -> Any:
    if request.hints.role == 'writer':
        return f'draft {request.hints.visit}'
    return {'approved': request.hints.visit > 2, 'comments': ['be brief', 'be kind']}


async def test_a_chart_runs_until_its_guard_lets_it_end_and_audits() -> None:
    async with LocalConductor(catalog=catalog(FakeModel(reply), critique())) as conductor:
        run = await complete_run(conductor, 'critique', TASK)
        outcome = await conductor.result(run)
        assert (outcome.status, outcome.answer, outcome.memory['caveat']) == ('done', 'draft 3 ', '')
        assert [draft['round'] for draft in outcome.memory['drafts']] == [0, 1, 2]
        assert await conductor.audit(run) == (await conductor.info(run)).seq
        view = await conductor.view(run)
        tasks = [part['text'] for message in view.agents['writing']['messages'] for part in message['parts']]
        assert 'Task: A toast for Ada\nMend: be brief; be kind\n' in tasks


async def test_a_chart_that_is_spent_says_so() -> None:
    async with LocalConductor(catalog=catalog(FakeModel(reply), critique())) as conductor:
        run = await complete_run(conductor, 'critique', {**TASK, 'rounds': 1})
        outcome = await conductor.result(run)
        assert outcome.memory['caveat'] == 'not approved after 1 rounds'
        last = (await conductor.transitions(run))[-1]
        assert [(guard.name, guard.value) for guard in last.guards] == [
            ('is_approved', False),
            ('is_spent', True),
        ]


async def test_a_fork_of_a_chart_replays_and_goes_on() -> None:
    async with LocalConductor(catalog=catalog(FakeModel(reply), critique())) as conductor:
        run = await complete_run(conductor, 'critique', TASK)
        changes = [Change(op='replace', path='/memory/rounds', value=0)]
        fork = await conductor.fork(run, 3, overrides=ForkOverrides(changes=changes))
        outcome = await conductor.result(fork)
        assert outcome.memory['caveat'] == 'not approved after 0 rounds'


def test_guards_of_a_chart_say_what_they_read() -> None:
    explanations = GuardExplanations(critique().sample(), {})
    before = {'memory': {'round': 2, 'rounds': 3, 'review': {'approved': True}}}
    event = Event(name='done', data={})
    spent = explanations.of('judging', 'done', 'is_spent', before, event)
    assert spent.says == 'memory.round >= memory.rounds'
    assert spent.values == (('round', 2), ('rounds', 3))
    approved = explanations.of('judging', 'done', 'is_approved', before, event)
    assert approved.values == (('review.approved', True),)


async def test_a_rehearsal_counts_the_rounds_of_a_chart() -> None:
    async with LocalConductor(catalog=catalog(FakeModel(reply), critique())) as conductor:
        for rounds in (0, 3):
            rehearsal = await conductor.rehearse('critique', {**TASK, 'rounds': rounds})
            visits = {state.path: state.visits for state in rehearsal.cost.states}
            assert (visits['writing'], visits['judging']) == (rounds + 1, rounds + 1)
            assert not [finding for finding in rehearsal.findings if finding.level == 'warning']


async def test_a_rehearsal_names_tools_that_are_not_here() -> None:
    chart = load_chart(CRITIQUE.read_text().replace('calculator', 'abacus'))
    async with LocalConductor(catalog=catalog(FakeModel(reply), chart)) as conductor:
        (finding,) = [
            each for each in (await conductor.rehearse('critique', TASK)).findings if each.level == 'error'
        ]
        assert (finding.rule, finding.state, finding.text) == (
            'unknown-tool',
            'writing',
            "there is no tool 'abacus'",
        )


def test_a_chart_knows_the_lines_of_its_states_and_edges() -> None:
    source, lines = critique().source, CRITIQUE.read_text().splitlines()
    assert all(lines[line - 1].strip().startswith(f'{path}:') for path, line in source.states.items())
    assert all(f'on: {edge.trigger}' in lines[edge.line - 1] for edge in source.edges)
    assert 'increment: round' in lines[source.edge_line('done', 'judging', 'writing') - 1]
