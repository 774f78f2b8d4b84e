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
from tests.unit.engine.history.test_bundle import (
    TAKE,
    destination,
    lines_of,
    pipeline,
    same,
    source,
    target,
    whole,
)
from tests.unit.engine.history.test_bundle_rejection import expect_refusal

__all__ = ['destination', 'source', 'target']  # fixtures
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
    recorded: RunId
    won: RunId
    last: RunId

    @property
    def all(self) -> list[RunId]:
        return [self.root, self.recorded, self.won, self.last]


@pytest.fixture
async def debugged(source: Conductor) -> Debugged:
    root = (await source.start('pipeline', {'task': 'Which database?'}, breakpoints=[
        Breakpoint(enter='reviewing', when='loops >= 0', once=True),
        Breakpoint(edge='reviewing>analyzing', enabled=False),
    ])).id  # fmt: skip
    await wait_for_state(source, root, 'reviewing.thinking')
    assert (await source.view(root)).stopped
    await source.step(root, 'over')
    await until(lambda: source._live.runs[root].projection.paused)
    await source.resume(root)
    await to_the_end(source, root)
    recorded, won = await source.fork_all(
        root, 3, {'as it was': ForkOverrides(after='recorded'), 'varied': VARIED}
    )
    for run in (recorded, won):
        await to_the_end(source, run)
    await source.mark_winner(won)
    last = await source.fork(won, 5)
    await to_the_end(source, last)
    for run in (root, won):
        note = await source.write_note(run, 'A first thought', at=3)
        await source.write_note(run, 'A second thought', note=note.id)
        await source.write_note(run, 'At the end', at=(await source.info(run)).seq)
        source.recordings.path(run).parent.mkdir(parents=True, exist_ok=True)
        source.recordings.path(run).write_text(json.dumps(TAKE) + '\n')
    await source.annotate(won, starred=True, pinned=True, note='Kinder')
    await source.annotate(recorded, tags=['weekly', *(await source.info(recorded)).tags])
    return Debugged(root, recorded, won, last)


def list_kin(kin: LineageNode) -> Iterator[tuple[Any, ...]]:
    yield kin.run, kin.kind, kin.group, kin.at, WINNER in kin.info.tags, len(kin.children)
    for child in kin.children:
        yield from list_kin(child)


async def test_a_debugged_family_is_imported_completely(
    source: Conductor, destination: Conductor, debugged: Debugged
) -> None:
    runs = await source.family(debugged.won)
    assert set(runs) == set(debugged.all) and runs[0] == debugged.root
    imported = await destination.import_bundle(io.BytesIO(await whole(source, *runs, compressed=True)))
    assert {(item.id, item.outcome, item.closed) for item in imported} == {
        (run, 'new', False) for run in runs
    }
    for run in runs:
        await same(source, destination, run)
        assert await destination.audit(run) == (await source.info(run)).seq
    assert list(list_kin(await destination.lineage(debugged.last))) == list(
        list_kin(await source.lineage(debugged.last))
    )
    won = await destination.info(debugged.won)
    assert (won.starred, won.pinned, WINNER in won.tags) == (True, True, True)
    assert won.options['instructions'] == {'reviewer': 'Be kind.'}
    assert won.options['play']['plays'] == {'analyzer': 'recorded'}
    assert (await destination.runs(RunQuery(text='thought'))).total == 2
    assert len((await destination.view(debugged.root)).breakpoints) == 2
    # The imported family can be used like the original.
    await destination.mark_winner(debugged.recorded)
    assert WINNER not in (await destination.info(debugged.won)).tags
    fork = await destination.fork(debugged.won, 4, overrides=ForkOverrides(after='recorded'))
    assert (await to_the_end(destination, fork)).status is Status.DONE
    tail = [step.entered for step in await destination.transitions(debugged.won, after=4)]
    assert [step.entered for step in await destination.transitions(fork, after=5)] == tail


async def test_a_held_region_is_imported_as_held(source: Conductor, destination: Conductor) -> None:
    stop = Breakpoint(enter='both.one.using_tools', stop='region')
    run = (await source.start('pair', breakpoints=[stop])).id
    await wait_for_state(source, run, 'both.two.done')
    view = await source.view(run)
    assert (
        list(view.held) == ['both.one'] and 'breakpoint 1' in view.held[view.held and next(iter(view.held))]
    )
    await source.resume(run, 'both.one.using_tools')
    await to_the_end(source, run)
    await destination.import_bundle(io.BytesIO(await whole(source, run)))
    await same(source, destination, run)  # at each step, even those where it was held
    assert (await destination.view(run, view.seq)).held == view.held
    assert (await destination.view(run, view.seq)).files == view.files != {}


async def test_stars_and_pins_are_not_exported(
    source: Conductor, destination: Conductor, debugged: Debugged
) -> None:
    run = debugged.root
    await source.traffic(RunQuery())
    await source.delete(run)
    bundle = await whole(source, run)
    info = lines_of(bundle)[1]['info']
    assert not {'owner', 'epoch', 'bytes', 'deleted'} & set(info)
    await destination.import_bundle(io.BytesIO(bundle))
    await source.restore(run)
    await same(source, destination, run)
    came = await destination.info(run)
    assert (came.deleted, came.owner, came.epoch) == (0.0, '', 0)  # listed, without an owner
    assert await destination.journal.path_stats(run) is None  # recomputed on request


async def test_a_fork_is_imported_before_its_parent(
    source: Conductor, destination: Conductor, debugged: Debugged
) -> None:
    await destination.import_bundle(io.BytesIO(await whole(source, debugged.won)))
    await same(source, destination, debugged.won)
    assert await destination.audit(debugged.won) == (await source.info(debugged.won)).seq
    alone = await destination.lineage(debugged.won)
    assert (alone.run, alone.info.parent, alone.children) == (debugged.won, debugged.root, ())
    fork = await destination.fork(debugged.won, 5)
    assert (await to_the_end(destination, fork)).status is Status.DONE
    # A fork that replays its parent is complete without it.
    await destination.import_bundle(io.BytesIO(await whole(source, debugged.recorded)))
    await same(source, destination, debugged.recorded)
    await destination.import_bundle(io.BytesIO(await whole(source, debugged.root)))
    joined = {run for run, *_ in list_kin(await destination.lineage(fork))}
    assert joined == {debugged.root, debugged.recorded, debugged.won, fork}


async def test_a_parent_in_the_trash_does_not_hide_its_fork(source: Conductor, debugged: Debugged) -> None:
    await source.delete(debugged.won)
    assert await source.family(debugged.last) == [debugged.root, debugged.recorded, debugged.last]


@pytest.mark.parametrize('compressed', [False, True])
async def test_a_truncated_file_names_the_line(
    source: Conductor, target: Conductor, compressed: bool
) -> None:
    bundle = await whole(source, await pipeline(source))
    lines = bundle.splitlines(keepends=True)
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


async def test_a_tampered_file_names_the_line_and_the_field(source: Conductor, target: Conductor) -> None:
    lines = (await whole(source, await pipeline(source))).splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b'"kind":"step"' in line)
    swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
    doubled = [*lines[: at + 1], *lines[at:]]
    lacking = [*lines[:at], *lines[at + 1 :]]
    garbled = [*lines[:at], lines[at].replace(b'"time"', b'"tame"', 1), *lines[at + 1 :]]
    no_json = [*lines[:at], b'{"kind":"step",\n', *lines[at + 1 :]]
    quietly = [*lines[:at], lines[at].replace(b'Which database', b'Which Database'), *lines[at + 1 :]]
    for changed, line, reason in (
        (swapped, at + 1, 'seq: step 1 is missing'),
        (doubled, at + 2, 'seq: step 2 is missing'),
        (lacking, at + 1, 'seq: step 1 is missing'),
        (garbled, at + 1, 'time: Field required'),
        (no_json, at + 1, 'Invalid JSON'),
        (quietly, len(lines), 'sha256: the file is damaged: its checksum does not match'),
    ):
        assert changed != lines
        error = await expect_refusal(target, b''.join(changed), reason)
        assert error.line == line, str(error)
