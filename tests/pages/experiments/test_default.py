"""A variant that is made the default: the launch form starts from it, until a person takes that back."""

from dataclasses import replace

import pytest
from nicegui.testing import User

from engine import InvalidInput, LocalConductor
from engine.operations.experiments import Case, Experiment, NoLaunchDefault, ScorerSpec, Variant
from engine.records import Launch
from tests.pages.experiments.conftest import LOAVES
from tests.support.pages.clicks import answer, click, control, press_labelled, see

CHART = """\
chart: two-words
parameters: {task: string}
memory: {task: string, answer: string}
answer: answer
roles:
  writer:
    instructions: Whisper.   # how
initial: writing
states:
  writing: {agent: writer, prompt: '{{ parameters.task }}', then: {set: {answer: text}}}
  done: {final: true}
transitions:
  - {on: done, from: writing, to: done}
"""
WHISPER = Variant(name='whisper', change={'parameters': {'task': 'Whisper it'}})


async def whisper(conductor: LocalConductor, variant: Variant) -> Experiment:
    """An experiment with a chart that is over."""
    await conductor.charts.save('two-words', CHART)
    cases = [Case(id=f'case {n}', parameters={'task': f'{n}'}) for n in range(3)]
    await conductor.datasets.save('words', cases)
    experiment = replace(
        LOAVES,
        name='Louder',
        dataset='words',
        base=Launch(pattern='two-words', stubs={'writer': ('Hi',)}),
        variants=(LOAVES.variants[0], variant),
        scorers=(ScorerSpec(name='status', kind='status'),),
    )
    return (await conductor.experiment(experiment)).experiment


async def test_the_launch_form_starts_from_the_variant_made_the_default(
    pages: User, conductor: LocalConductor
) -> None:
    variants = (LOAVES.variants[0], WHISPER)
    over = (await conductor.experiment(replace(LOAVES, variants=variants))).experiment
    await pages.open(f'/experiments/{over.id}')
    await see(pages, 'Make default', retries=20)
    press_labelled(pages, 'Make default: whisper')
    await see(pages, 'The launch form then starts from: task = Whisper it')
    await see(pages, 'echo is written in Python')
    answer(pages, 'Use as settings')
    await see(pages, 'Default', retries=20)
    (default,) = await conductor.experiments.defaults()
    assert (default.pattern, default.variant, default.author) == ('echo', 'whisper', 'ada')
    assert 'answer' not in default.launch.parameters, 'each case gives it'

    await pages.open('/launch/echo')
    await see(pages, 'Starts from “whisper”')
    assert control(pages, 'Task').value == 'Whisper it'
    click(pages, 'Use its own defaults')
    await pages.should_not_see('Starts from “whisper”')
    assert not await conductor.experiments.defaults()
    await pages.open('/launch/echo')
    assert control(pages, 'Task').value == 'Say it'


async def test_a_variant_that_differs_by_stubs_alone_is_no_default(conductor: LocalConductor) -> None:
    stubbed = Variant(name='stubbed', change={'stubs': {'writer': ('Ready.',)}})
    one = (await whisper(conductor, stubbed)).id
    for kind in ('settings', 'version'):
        with pytest.raises(InvalidInput, match='stubs alone'):
            await conductor.experiments.adopt(one, 'stubbed', kind=kind)
    with pytest.raises(InvalidInput, match='there is no variant'):
        await conductor.experiments.adopt(one, 'other')
    with pytest.raises(NoLaunchDefault):
        await conductor.experiments.reset_default('two-words')


async def test_a_variant_of_a_chart_becomes_its_next_version(pages: User, conductor: LocalConductor) -> None:
    louder = Variant(name='louder', change={'instructions': {'writer': 'Shout.'}})
    over = await whisper(conductor, louder)
    await pages.open(f'/experiments/{over.id}')
    await see(pages, 'Make default', retries=20)
    press_labelled(pages, 'Make default: louder')
    await see(pages, 'New version of the chart', 'names the experiment')
    answer(pages, 'Save as version')
    await see(pages, 'Undo', retries=20)
    newest, first = await conductor.charts.versions('two-words')
    assert newest.current and newest.author == 'ada' and 'Louder' in newest.note
    assert 'instructions: Shout.   # how' in (await conductor.charts.get('two-words')).text
    await pages.open('/charts/two-words')
    click(pages, 'Versions')
    await see(pages, 'Experiment', 'Variant “louder” of the experiment “Louder”')
    await pages.open(f'/experiments/{over.id}')
    await see(pages, 'Undo', retries=20)
    press_labelled(pages, 'Undo default: louder')
    await see(pages, 'both are kept')
    answer(pages, 'Undo')
    await see(pages, 'Make default', retries=20)
    assert (await conductor.charts.versions('two-words'))[-1].current and first.number == 1
