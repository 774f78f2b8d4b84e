"""Bundles of debugged runs: variants, breakpoints, paused regions, notes; and corrupt files."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from engine import Breakpoint, Conductor, Status
from engine.history import ForkOverrides, LineageNode
from engine.history.forks.fork_records import WINNER
from engine.records import Change, RunId, RunQuery
from tests.support.harness import to_the_end, until, wait_for_state
from tests.unit.engine.history.test_bundle import TAKE, here, lines_of, pipeline, same, target, there, whole
from tests.unit.engine.history.test_bundle_rejection import expect_refusal

__all__ = ['here', 'target', 'there']  # fixtures
VARIED = ForkOverrides(
    changes=(Change(op='replace', path='/memory/iteration', value=1),),
    instructions={'reviewer': 'Be kind.'},
    prompts={'researching': 'Look again.'},
    models={'analyzer': 'scripted'},
    tools={'researcher': ('notes',)},
    plays={'analyzer': 'recorded'},
    beyond='simulated',
)


@dataclass
class Debugged:
    """A family: a stepped run, two variants of it, and a fork of the winner."""

    root: RunId
    kept: RunId
    won: RunId
    last: RunId

    @property
    def all(self) -> list[RunId]:
        return [self.root, self.kept, self.won, self.last]


@pytest.fixture
async def debugged(here: Conductor) -> Debugged:
    root = (await here.start('pipeline', {'task': 'Which database?'}, breakpoints=[
        Breakpoint(enter='reviewing', when='loops >= 0', once=True),
        Breakpoint(edge='reviewing>analyzing', enabled=False),
    ])).id  # fmt: skip
    await wait_for_state(here, root, 'reviewing.thinking')
    assert (await here.view(root)).stopped
    await here.step(root, 'over')
    await until(lambda: here._live.runs[root].projection.paused)
    await here.resume(root)
    await to_the_end(here, root)
    kept, won = await here.fork_all(root, 3, {'as it was': ForkOverrides(after='recorded'), 'varied': VARIED})
    for run in (kept, won):
        await to_the_end(here, run)
    await here.mark_winner(won)
    last = await here.fork(won, 5)
    await to_the_end(here, last)
    for run in (root, won):
        note = await here.write_note(run, 'A first thought', at=3)
        await here.write_note(run, 'A second thought', note=note.id)
        await here.write_note(run, 'At the end', at=(await here.info(run)).seq)
        here.recordings.path(run).parent.mkdir(parents=True, exist_ok=True)
        here.recordings.path(run).write_text(json.dumps(TAKE) + '\n')
    await here.annotate(won, starred=True, pinned=True, note='Kinder')
    await here.annotate(kept, tags=['weekly', *(await here.info(kept)).tags])
    return Debugged(root, kept, won, last)


def list_kin(kin: LineageNode) -> Iterator[tuple[Any, ...]]:
    yield kin.run, kin.kind, kin.group, kin.at, WINNER in kin.info.tags, len(kin.children)
    for child in kin.children:
        yield from list_kin(child)


async def test_a_debugged_family_is_imported_completely(
    here: Conductor, there: Conductor, debugged: Debugged
) -> None:
    runs = await here.family(debugged.won)
    assert set(runs) == set(debugged.all) and runs[0] == debugged.root
    found = await there.import_bundle(io.BytesIO(await whole(here, *runs, compressed=True)))
    assert {(one.run, one.outcome, one.closed) for one in found} == {(run, 'new', False) for run in runs}
    for run in runs:
        await same(here, there, run)
        assert await there.audit(run) == (await here.info(run)).seq
    assert list(list_kin(await there.lineage(debugged.last))) == list(
        list_kin(await here.lineage(debugged.last))
    )
    won = await there.info(debugged.won)
    assert (won.starred, won.pinned, WINNER in won.tags) == (True, True, True)
    assert won.options['instructions'] == {'reviewer': 'Be kind.'}
    assert won.options['play']['plays'] == {'analyzer': 'recorded'}
    assert (await there.runs(RunQuery(text='thought'))).total == 2
    assert len((await there.view(debugged.root)).breakpoints) == 2
    # The imported family can be used like the original.
    await there.mark_winner(debugged.kept)
    assert WINNER not in (await there.info(debugged.won)).tags
    again = await there.fork(debugged.won, 4, variation=ForkOverrides(after='recorded'))
    assert (await to_the_end(there, again)).status is Status.DONE
    tail = [step.entered for step in await there.transitions(debugged.won, after=4)]
    assert [step.entered for step in await there.transitions(again, after=5)] == tail


async def test_a_held_region_is_imported_as_held(here: Conductor, there: Conductor) -> None:
    stop = Breakpoint(enter='both.one.using_tools', stop='region')
    run = (await here.start('pair', breakpoints=[stop])).id
    await wait_for_state(here, run, 'both.two.done')
    view = await here.view(run)
    assert (
        list(view.held) == ['both.one'] and 'breakpoint 1' in view.held[view.held and next(iter(view.held))]
    )
    await here.resume(run, 'both.one.using_tools')
    await to_the_end(here, run)
    await there.import_bundle(io.BytesIO(await whole(here, run)))
    await same(here, there, run)  # at each step, even those where it was held
    assert (await there.view(run, view.seq)).held == view.held
    assert (await there.view(run, view.seq)).files == view.files != {}


async def test_stars_and_pins_are_not_exported(here: Conductor, there: Conductor, debugged: Debugged) -> None:
    run = debugged.root
    await here.traffic(RunQuery())
    await here.delete(run)
    made = await whole(here, run)
    info = lines_of(made)[1]['info']
    assert not {'owner', 'epoch', 'bytes', 'deleted'} & set(info)
    await there.import_bundle(io.BytesIO(made))
    await here.restore(run)
    await same(here, there, run)
    came = await there.info(run)
    assert (came.deleted, came.owner, came.epoch) == (0.0, '', 0)  # listed, without an owner
    assert await there.journal.path_stats(run) is None  # recomputed on request


async def test_a_fork_is_imported_before_its_parent(
    here: Conductor, there: Conductor, debugged: Debugged
) -> None:
    await there.import_bundle(io.BytesIO(await whole(here, debugged.won)))
    await same(here, there, debugged.won)
    assert await there.audit(debugged.won) == (await here.info(debugged.won)).seq
    alone = await there.lineage(debugged.won)
    assert (alone.run, alone.info.parent, alone.children) == (debugged.won, debugged.root, ())
    fork = await there.fork(debugged.won, 5)
    assert (await to_the_end(there, fork)).status is Status.DONE
    # A fork that replays its parent is complete without it.
    await there.import_bundle(io.BytesIO(await whole(here, debugged.kept)))
    await same(here, there, debugged.kept)
    await there.import_bundle(io.BytesIO(await whole(here, debugged.root)))
    joined = {run for run, *_ in list_kin(await there.lineage(fork))}
    assert joined == {debugged.root, debugged.kept, debugged.won, fork}


async def test_importing_twice_changes_nothing(here: Conductor, there: Conductor, debugged: Debugged) -> None:
    made = await whole(here, *debugged.all)
    await there.import_bundle(io.BytesIO(made))
    await there.annotate(debugged.won, tags=['mine'], starred=False)
    await there.write_note(debugged.won, 'My own', at=1)
    found = await there.import_bundle(io.BytesIO(made))
    assert [(one.run, one.outcome) for one in found] == [(run, 'known') for run in debugged.all]
    assert (await there.runs(RunQuery())).total == 4
    mine = await there.info(debugged.won)
    assert (mine.tags, mine.starred) == (('mine',), False)
    assert [note.text for note in await there.notes(debugged.won)] == [
        'My own',
        'A second thought',
        'At the end',
    ]
    await same(here, there, debugged.root)


async def test_a_parent_in_the_trash_does_not_hide_its_fork(here: Conductor, debugged: Debugged) -> None:
    await here.delete(debugged.won)
    assert await here.family(debugged.last) == [debugged.root, debugged.kept, debugged.last]


@pytest.mark.parametrize('compressed', [False, True])
async def test_a_truncated_file_names_the_line(here: Conductor, target: Conductor, compressed: bool) -> None:
    made = await whole(here, await pipeline(here))
    lines = made.splitlines(keepends=True)
    for cut in (3, len(lines) // 2, len(lines) - 1):
        for part in (b'', lines[cut][: len(lines[cut]) // 2]):
            broken = b''.join(lines[:cut]) + part
            if compressed:  # like an interrupted download, without the end of the compressed stream
                packed = gzip.compress(broken, mtime=0)[:-8]
                error = await expect_refusal(target, packed, 'was cut off')
                assert cut - 1 <= error.line <= cut + 1
            else:
                error = await expect_refusal(target, broken, 'was cut off')
                assert error.line == cut + 1
            assert str(error).startswith(f'line {error.line}: ')


async def test_a_tampered_file_names_the_line_and_the_field(here: Conductor, target: Conductor) -> None:
    lines = (await whole(here, await pipeline(here))).splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b'"kind":"step"' in line)
    swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
    doubled = [*lines[: at + 1], *lines[at:]]
    lacking = [*lines[:at], *lines[at + 1 :]]
    garbled = [*lines[:at], lines[at].replace(b'"time"', b'"tame"', 1), *lines[at + 1 :]]
    no_json = [*lines[:at], b'{"kind":"step",\n', *lines[at + 1 :]]
    quietly = [*lines[:at], lines[at].replace(b'Which database', b'Which Database'), *lines[at + 1 :]]
    for changed, line, said in (
        (swapped, at + 1, 'seq: step 1 is missing'),
        (doubled, at + 2, 'seq: step 2 is missing'),
        (lacking, at + 1, 'seq: step 1 is missing'),
        (garbled, at + 1, 'time: Field required'),
        (no_json, at + 1, 'Invalid JSON'),
        (quietly, len(lines), 'sha256: the file is damaged: its checksum does not match'),
    ):
        assert changed != lines
        error = await expect_refusal(target, b''.join(changed), said)
        assert error.line == line, str(error)
