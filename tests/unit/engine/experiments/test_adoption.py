"""A variant that becomes the default as a version of its chart: what the chart says, and the way back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog, InvalidInput, LocalConductor
from engine.charts.library import ChartLibrary
from engine.errors import EntryChanged
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.records import Experiment, ScorerSpec, Variant
from engine.records import Launch
from tests.support.charts.echo import Echo

TEAM = """\
chart: team   # ours
parameters:
  task: {type: string, default: Say it}
  rounds: integer   # how often
roles:
  writer: {instructions: You write., tools: [notes]}
  critic:
    instructions: You judge.
memory: {task: string, answer: string}
answer: answer
initial: writing
states:
  writing: {agent: writer, prompt: '{{ parameters.task }}', then: {set: {answer: text}}}
  judging: {agent: {role: critic, tools: []}, prompt: '{{ memory.answer }}'}
  done: {final: true}
  failed: {final: true, outcome: failed}
transitions:
  - {on: done, from: writing, to: judging}
  - {on: done, from: judging, to: done}
  - {on: failed, from: '*', to: failed}
stubs: {writer: [Hi], critic: [Good]}
"""
STRICT = Variant(
    name='strict', change={'parameters': {'rounds': 3}, 'instructions': {'critic': 'Be {{ strict }}.'}}
)


@pytest.fixture
async def conductor(tmp_path: Path) -> AsyncIterator[LocalConductor]:
    catalog = Catalog.load()
    ChartLibrary(catalog, tmp_path)
    catalog.add(Echo)
    async with LocalConductor(catalog=catalog) as conductor:
        await conductor.charts.save('team', TEAM)
        await conductor.datasets.save('cases', [Case(id='one', parameters={'rounds': 1})])
        yield conductor


async def over(conductor: LocalConductor, *variants: Variant, **base: Any) -> str:
    """The id of an experiment whose variants have run on one case."""
    experiment = Experiment(
        name='Stricter',
        dataset='cases',
        base=Launch(**{'pattern': 'team', 'stubs': {'writer': ('Hi',), 'critic': ('Good',)}, **base}),
        variants=(Variant(name='as it is'), *variants),
        scorers=(ScorerSpec(name='status', kind='status'),),
    )
    return (await conductor.experiment(experiment)).experiment.id


async def test_a_variant_becomes_a_version_that_says_what_was_run(conductor: LocalConductor) -> None:
    experiments = conductor.experiments
    one = await over(conductor, STRICT)
    plan = await experiments.adoption(one, 'strict')
    changed = TEAM.replace('rounds: integer ', 'rounds: {type: integer, default: 3} ')
    changed = changed.replace('You judge.', '"{% raw %}Be {{ strict }}.{% endraw %}"')
    assert (plan.before, plan.after, plan.problems, plan.warnings) == (TEAM, changed, {}, ())
    assert (await conductor.charts.get('team')).text == TEAM, 'a plan saves nothing'

    default = await experiments.adopt(one, 'strict', kind='version', base=plan.base)
    newest, first = await conductor.charts.versions('team')
    assert (newest.version, newest.note) == (default.version, 'Variant “strict” of the experiment “Stricter”')
    assert newest.current and default.before == first.version == plan.base
    run = await conductor.start('team', stubs={'writer': ('Hi',), 'critic': ('Good',)})
    await run.result()
    view = await conductor.view(run.id)
    assert view.agents['judging']['instructions'] == 'Be {{ strict }}.'
    assert [(item.version, item.current) for item in await experiments.defaults()] == [(newest.version, True)]
    assert (await experiments.adoption(one, 'strict')).problems == {
        'variant': 'the chart team says all of it already'
    }

    await experiments.reset_default('team', version=default.version)
    assert (await conductor.charts.get('team')).text == TEAM
    assert [item.current for item in await experiments.defaults()] == [False], 'the link stays'
    assert [version.current for version in await conductor.charts.versions('team')] == [False, True]


async def test_a_default_takes_the_place_of_another_also_after_it_was_taken_back(
    conductor: LocalConductor,
) -> None:
    experiments = conductor.experiments
    loose = Variant(name='loose', change={'parameters': {'rounds': 5}})
    one = await over(conductor, STRICT, loose)
    for variant in ('strict', 'loose', 'strict'):
        assert (await experiments.adopt(one, variant)).variant == variant
    assert [item.variant for item in await experiments.defaults()] == ['strict']
    await experiments.reset_default('team')
    for _ in range(2):
        plan = await experiments.adoption(one, 'strict')
        default = await experiments.adopt(one, 'strict', kind='version', base=plan.base)
        await experiments.reset_default('team', version=default.version)


async def test_what_a_chart_cannot_say_is_named_and_offered_as_settings(conductor: LocalConductor) -> None:
    change = {'models': {'writer': 'scripted'}, 'tools': {'critic': ('notes',), 'writer': ()}}
    one = await over(conductor, Variant(name='other', change=change))
    plan = await conductor.experiments.adoption(one, 'other')
    assert plan.problems == {'models': 'a chart does not say which model answers'} and plan.after == ''
    tools = await over(conductor, Variant(name='other', change={'tools': change['tools']}))
    assert (await conductor.experiments.adoption(tools, 'other')).problems == {
        'tools.critic': "the state 'judging' names its own tools"
    }
    with pytest.raises(InvalidInput, match='which model answers'):
        await conductor.experiments.adopt(one, 'other', kind='version')
    settings = await conductor.experiments.adopt(one, 'other')
    assert (settings.version, settings.launch.models) == ('', {'writer': 'scripted'})
    writer = await over(conductor, Variant(name='bare', change={'tools': {'writer': ()}}))
    overruled = (await conductor.experiments.adoption(writer, 'bare')).problems
    assert overruled == {
        'tools.writer': "the launch form starts from the settings of 'other': reset them first"
    }


async def test_a_variant_of_an_earlier_version_makes_that_current(conductor: LocalConductor) -> None:
    (first,) = await conductor.charts.versions('team')
    await conductor.charts.save('team', TEAM.replace('You write.', 'You scribble.'), base=first.version)
    one = await over(conductor, Variant(name='old', change={'version': first.version}))
    plan = await conductor.experiments.adoption(one, 'old')
    assert (plan.restores, plan.after, plan.problems) == (first.version, TEAM, {})
    default = await conductor.experiments.adopt(one, 'old', kind='version')
    second, restored = await conductor.charts.versions('team')
    assert restored.current and default.before == second.version
    await conductor.experiments.reset_default('team', version=default.version)
    assert (await conductor.charts.versions('team'))[0].current


async def test_a_chart_that_has_changed_since_is_said_and_never_overwritten(
    conductor: LocalConductor,
) -> None:
    experiments = conductor.experiments
    one = await over(conductor, STRICT)
    seen = await experiments.adoption(one, 'strict')
    later = TEAM.replace('You write.', 'You scribble.')
    await conductor.charts.save('team', later, base=seen.base)
    with pytest.raises(EntryChanged):
        await experiments.adopt(one, 'strict', kind='version', base=seen.base)
    assert (await conductor.charts.get('team')).text == later and not await experiments.defaults()
    plan = await experiments.adoption(one, 'strict')
    assert 'You scribble.' in plan.after
    assert plan.warnings == (
        'The experiment ran version 1 of the chart, and version 2 is current.'
        ' The change is made to the current one.',
    )
    default = await experiments.adopt(one, 'strict', kind='version')
    await conductor.charts.save('team', TEAM, base=default.version)
    with pytest.raises(InvalidInput, match='changed since'):
        await experiments.reset_default('team', version=default.version)
    assert [item.current for item in await experiments.defaults()] == [False]


async def test_a_pattern_in_python_or_a_broken_chart_is_no_version(
    conductor: LocalConductor, tmp_path: Path
) -> None:
    loud = Variant(name='loud', change={'parameters': {'task': 'Shout'}})
    await conductor.datasets.save('cases', [Case(id='one', parameters={'answer': '1'})])
    one = await over(conductor, loud, pattern='echo', stubs={})
    plan = await conductor.experiments.adoption(one, 'loud')
    assert plan.problems == {'pattern': 'echo is written in Python: its code says what runs start with'}
    default = await conductor.experiments.adopt(one, 'loud')
    assert default.launch.parameters == {'task': 'Shout'}, 'not what each case gives'
    await conductor.datasets.save('cases', [Case(id='one', parameters={'rounds': 1})])
    two = await over(conductor, STRICT)
    default = await conductor.experiments.adopt(two, 'strict')
    assert default.launch.parameters == {'rounds': 3}, 'the variant gives it, though each case does, too'
    await conductor.experiments.reset_default('team')
    (tmp_path / 'team.chart.yaml').write_text('chart: team\n')
    await conductor.charts.list()
    plan = await conductor.experiments.adoption(two, 'strict')
    assert plan.problems == {'pattern': 'the file of team has mistakes: mend it first'}


async def test_what_a_variant_takes_back_is_what_the_chart_says_already(conductor: LocalConductor) -> None:
    plain = Variant(
        name='plain',
        change={'instructions': {'critic': None}, 'tools': {'writer': None}, 'parameters': {'rounds': 3}},
    )
    one = await over(conductor, plain, instructions={'critic': 'Be kind.'}, tools={'writer': ()})
    plan = await conductor.experiments.adoption(one, 'plain')
    assert (plan.problems, 'You judge.' in plan.after, 'default: 3' in plan.after) == ({}, True, True)
