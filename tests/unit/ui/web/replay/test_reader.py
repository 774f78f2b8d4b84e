"""Past steps as a page reads them: back and forth, near and far; each equals a fold from the start."""

import random

import pytest

from engine import Catalog, LocalConductor, Memory, Pattern
from engine.errors import UnknownStep
from engine.journal import fold
from engine.records import RunId
from ui.formatting.steps import previous_values
from ui.web.replay.reader import FOLD_EVERY, MAX_CACHED, SEGMENT_STEPS, HistoryReader

STEPS = 500


class Walk(Pattern):
    """Takes a word a step."""

    class Memory(Memory):
        words: list[str] = []
        last: dict[str, int] = {}

    name = 'walk'
    initial = 'here'
    states = ('here', {'name': 'over', 'final': True})
    transitions = (
        {'trigger': 'go', 'source': 'here', 'dest': '=', 'after': 'keep'},
        ['stop', 'here', 'over'],
    )

    def keep(self, memory, event):
        memory.words.append(event.data['word'])
        memory.last[event.data['word']] = len(memory.words)


@pytest.fixture
async def walked():
    async with LocalConductor(catalog=Catalog(patterns={'walk': Walk})) as conductor:
        run = (await conductor.start('walk')).id
        for number in range(STEPS - 1):
            await conductor.send(run, 'go', data={'word': f'w{number % 7}'})
        yield conductor, run


def summarize(view) -> tuple[object, ...]:
    return view.seq, view.active, dict(view.entered), view.memory, view.time, view.ran


async def test_every_path_to_a_step_shows_the_same(walked):
    conductor, run = walked
    past, shape = HistoryReader(conductor, run, await conductor.shape(run)), await conductor.shape(run)
    steps = await conductor.transitions(run)
    chance = random.Random(7)
    positions = [
        STEPS,
        1,
        *range(30, 20, -1),
        *range(240, 260),
        *(chance.randint(1, STEPS) for _ in range(60)),
        0,
    ]
    for at in positions:
        moment = await past.at(at)
        assert summarize(moment.fold.view) == summarize(fold(run, shape, steps[:at]))
        assert (moment.step.seq if moment.step else 0) == at
    last = await past.at(3)
    assert previous_values(last.before, last.step.changes) == [
        None,
        None,
    ]  # neither had a value before


async def test_shown_views_do_not_change(walked):
    conductor, run = walked
    past = HistoryReader(conductor, run, await conductor.shape(run))
    before = (await past.at(10)).fold.view.memory
    words = list(before['words'])
    await past.at(200)
    assert before['words'] == words


async def test_neighbouring_steps_are_cached(walked, monkeypatch):
    conductor, run = walked
    past = HistoryReader(conductor, run, await conductor.shape(run))
    await past.at(150)
    monkeypatch.setattr(conductor, 'transitions', None)  # calling it now fails
    for at in (149, 20, 151, FOLD_EVERY, SEGMENT_STEPS, 1):
        assert (await past.at(at)).fold.projection.seq == at
    assert MAX_CACHED >= STEPS


async def test_a_missing_step_is_reported(walked):
    conductor, run = walked
    past = HistoryReader(conductor, run, await conductor.shape(run))
    with pytest.raises(UnknownStep):
        await past.at(STEPS + 1)
    with pytest.raises(Exception, match='nothere'):
        await HistoryReader(conductor, RunId('nothere'), await conductor.shape(run)).at(1)
