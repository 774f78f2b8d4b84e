"""Checking: keeps runs as tests, and plays tests through the patterns as they are now."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from engine.errors import InvalidInput
from engine.forks.forking import Forking
from engine.forks.saved import Checked, Saved, compared, saved
from engine.forks.variation import Variation
from engine.options import checked
from engine.records import RunId, RunInfo, Status, Transition


class Checking(Forking):
    """Saves tests, and runs them."""

    async def save_test(self, run: RunId) -> Saved:
        """A run as a test: what it was like is what is expected. Raises `UnknownRun`."""
        view, shape = await self.view(run), await self.journal.shape(run)
        answer = view.memory.get(shape.answer) if shape.answer else None
        return saved(await self.journal.info(run), view, answer, await self.journal.transitions(run))

    async def check(self, test: Saved) -> Checked:
        """Play a test through its pattern as it is now: no model and no tool is called.

        What was recorded is put into this conductor's journal, with what came of it: have one in memory.

        Raises:
            UnknownPattern, PatternError
            InvalidInput: the parameters or the options do not fit (any more); it names the field.
        """
        made = self.catalog.pattern(test.pattern)
        with _within('parameters'):
            made.parse(test.parameters)
        with _within('options'):
            checked(test.options)
        parent = RunInfo(
            id=RunId(uuid.uuid4().hex[:12]),
            pattern=test.pattern,
            title='recorded',
            parameters=test.parameters,
            options=test.options,
            seed=test.seed,
            epoch=1,
        )
        steps = [replace(step, run=parent.id) for step in test.recorded]
        shape = self.draw(test.pattern, test.parameters)
        await self.journal.create(parent, shape)
        await self.journal.append(replace(parent, seq=len(steps), status=Status.DONE), steps)
        way = Variation(after='recorded', beyond='stop')
        run = await self.fork(parent.id, 0, variation=way)
        async for item in self.watch(run):
            if isinstance(item, Transition) and not item.event.played and _is_the_end(item):
                break  # Nothing is recorded for where it has got.
        view = await self.view(run)
        answer = view.memory.get(shape.answer) if shape.answer else None
        return compared(test, shape, view, answer, await self.journal.transitions(run))


@contextmanager
def _within(part: str) -> Iterator[None]:
    """Name the part of the file in which a field is wrong."""
    try:
        yield
    except InvalidInput as error:
        found = {f'{part}.{name}' if name else part: problem for name, problem in error.problems.items()}
        raise InvalidInput(found) from None


def _is_the_end(step: Transition) -> bool:
    return step.event.name in ('pause', 'recover') and bool({'reason', 'left'} & set(step.event.data))
