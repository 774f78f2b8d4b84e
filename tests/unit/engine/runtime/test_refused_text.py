"""Text with NUL is refused wherever a person's text comes in, and nothing is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from engine import Conductor, InvalidInput, LocalConductor
from engine.history import ForkOverrides
from engine.records import Change, RunId
from tests.support.harness import start_run

TASK = 'Compare tea and coffee'
EDIT = Change(op='replace', path='/memory/analysis', value='a\0b')


@pytest.mark.parametrize(
    'give',
    [
        lambda conductor, run: conductor.start('pipeline', task='a\0b'),
        lambda conductor, run: conductor.start('pipeline', task=TASK, title='a\0b'),
        lambda conductor, run: conductor.start('pipeline', task=TASK, tags=['a\0b']),
        lambda conductor, run: conductor.start('pipeline', task=TASK, instructions={'analyzer': 'a\0b'}),
        lambda conductor, run: conductor.send(run, 'deny', data={'reason': 'a\0b'}),
        lambda conductor, run: conductor.send(run, 'edit', data={'changes': [{'value': {'\0': 1}}]}),
        lambda conductor, run: conductor.annotate(run, title='a\0b'),
        lambda conductor, run: conductor.annotate(run, tags=['a\0b']),
        lambda conductor, run: conductor.annotate(run, note='a\0b'),
        lambda conductor, run: conductor.write_note(run, 'a\0b', at=1),
        lambda conductor, run: conductor.fork(run, 1, overrides=ForkOverrides(changes=[EDIT])),
        lambda conductor, run: conductor.fork(run, 1, overrides=ForkOverrides(parameters={'task': 'a\0b'})),
        lambda conductor, run: conductor.fork(run, 1, overrides=ForkOverrides(prompts={'analyzer': 'a\0b'})),
    ],
)
async def test_text_with_nul_is_refused(give: Callable[[Conductor, RunId], Awaitable[Any]]) -> None:
    async with LocalConductor() as conductor:
        run = await start_run(conductor, 'pipeline', {'task': TASK}, paused=True)
        before = await conductor.info(run), await conductor.notes(run)
        with pytest.raises(InvalidInput, match='has a NUL character'):
            await give(conductor, run)
        assert (await conductor.info(run), await conductor.notes(run)) == before
        assert (await conductor.runs()).total == 1
