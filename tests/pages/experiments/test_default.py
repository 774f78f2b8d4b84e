"""A variant that is made the default: the launch form starts from it, until a person takes that back."""

from dataclasses import replace

import pytest
from nicegui.testing import User

from engine import InvalidInput, LocalConductor
from engine.operations.experiments import Variant
from engine.operations.experiments.adoption import Adoption, NoLaunchDefault
from tests.pages.experiments.conftest import LOAVES
from tests.support.pages.clicks import answer, click, control, press_labelled, see

WHISPER = Variant(name='whisper', change={'parameters': {'task': 'Whisper it'}})


async def test_the_launch_form_starts_from_the_variant_made_the_default(
    pages: User, conductor: LocalConductor
) -> None:
    variants = (LOAVES.variants[0], WHISPER)
    over = (await conductor.experiment(replace(LOAVES, variants=variants))).experiment
    await pages.open(f'/experiments/{over.id}')
    await see(pages, 'Make default', retries=20)
    press_labelled(pages, 'Make default: whisper')
    await see(pages, 'The launch form then starts from: task = Whisper it')
    answer(pages, 'Make default')
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
    experiment = replace(LOAVES, id='e', variants=(LOAVES.variants[0], stubbed))
    adoption = Adoption(conductor.journal.documents, conductor.clock)
    with pytest.raises(InvalidInput, match='stubs alone'):
        await adoption.adopt(experiment, 'stubbed', ())
    with pytest.raises(InvalidInput, match='there is no variant'):
        await adoption.adopt(experiment, 'other', ())
    with pytest.raises(NoLaunchDefault):
        await adoption.remove('echo')
