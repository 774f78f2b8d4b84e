"""Recordings that come with cases become runs in the journal, from which the cases are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pydantic import TypeAdapter

from engine.configuration.catalog import Catalog
from engine.errors import BundleError, InvalidInput, JournalConflict
from engine.history.bundle.closing import closing_step
from engine.history.bundle.validation import check_document, check_shape, check_step
from engine.journal.projection import Fold
from engine.journal.protocol import Journal, WholeRun
from engine.operations.experiments.datasets.records import Case, Recording
from engine.operations.experiments.records import digest_of
from engine.records import Launch, RunId, RunInfo, Shape
from engine.records.jsonable import refuse_nul
from engine.records.run_info import MAX_TITLE
from engine.runtime.recorder import summary
from engine.runtime.run_factory import ACTOR
from engine.statechart.shape_builder import START

RECORDING: TypeAdapter[Recording] = TypeAdapter(Recording)
TAG = 'recording'
"""The tag of the runs that recordings become."""


async def keep_recordings(journal: Journal, catalog: Catalog, cases: Sequence[Case]) -> list[Case]:
    """Store the recordings that come with cases as runs, and return the cases with these as their sources.

    An equal recording becomes the same run, so that nothing is stored twice.

    Raises:
        UnknownPattern
        InvalidInput: names the case and the field.
    """
    return [await _keep(journal, catalog, case, case.recording) if case.recording else case for case in cases]


async def _keep(journal: Journal, catalog: Catalog, case: Case, recording: Recording) -> Case:
    at = f'cases.{case.id}'
    if not recording.pattern:
        raise InvalidInput({f'{at}.recording.pattern': 'must be the name of a pattern'})
    pattern = catalog.pattern(recording.pattern)
    with _inside(f'{at}.recording.options'):
        Launch.parse({**recording.options, 'pattern': pattern.name})
    with _inside(f'{at}.parameters'):
        today = catalog.draw(pattern.name, case.parameters)
    content = RECORDING.dump_python(recording, mode='json')
    refuse_nul({f'{at}.recording': content, f'{at}.parameters': dict(case.parameters)})
    run = RunId(digest_of(content, dict(case.parameters))[:12])
    info = RunInfo(
        id=run,
        pattern=pattern.name,
        version=pattern.version,
        title=f'{case.id} · recorded'[:MAX_TITLE],
        tags=(TAG,),
        parameters=dict(case.parameters),
        options=dict(recording.options),
        seed=recording.seed,
        author=ACTOR.get(),
        created=recording.steps[0].time,
        updated=recording.steps[-1].time,
        epoch=1,
    )
    whole = await asyncio.to_thread(_whole_run, info, today, recording, at)
    try:
        await journal.import_runs([whole])
    except JournalConflict:  # The same recording has been stored before.
        await journal.info(run)
    return replace(case, source=run, recording=None)


def _whole_run(info: RunInfo, today: Shape, recording: Recording, at: str) -> WholeRun:
    """Return a recording as a run that is over: one that comes unfinished is closed."""
    steps = [replace(step, run=info.id) for step in recording.steps]
    shape = replace(recording.shape or today, pattern=info.pattern)
    paths = frozenset({state.path for state in shape.states} | {START})
    if recording.shape is None:  # The steps may be older than the chart of today.
        paths |= {path for step in steps for path in (*step.left, *step.entered, *step.active)}
    fold, seq = Fold(info.id, shape), 0
    try:
        check_shape(0, shape)
        for seq, step in enumerate(steps, start=1):
            check_step(seq, step, paths)
            fold.apply(step)
        check_document(seq, fold.document)
    except BundleError as error:
        part, text = ('steps', f'step {error.line}: ') if error.line else ('shape', '')
        raise InvalidInput({f'{at}.recording.{part}': f'{text}{error.problem}'}) from None
    except Exception as error:  # a file may hold anything
        problem = f'step {seq} does not fit what came before: {type(error).__name__} {error}'[:500]
        raise InvalidInput({f'{at}.recording.steps': problem}) from None
    if not fold.projection.status.ended:
        steps.append(closing_step(info, fold.projection))
        fold.apply(steps[-1])
    return WholeRun(info=summary(info, fold.projection), shape=shape, history=steps)


@contextmanager
def _inside(part: str) -> Iterator[None]:
    """Say of wrong fields what they are part of."""
    try:
        yield
    except InvalidInput as error:
        problems = {f'{part}.{name}' if name else part: problem for name, problem in error.problems.items()}
        raise InvalidInput(problems) from None
