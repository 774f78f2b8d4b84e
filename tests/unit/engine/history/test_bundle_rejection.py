"""Truncated, altered and hostile bundles: each is refused as a whole, with the reason."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Conductor, EngineError
from engine.errors import BundleError
from engine.history.bundle import reader, validation
from engine.history.bundle.format import MAX_LINE
from tests.unit.engine.history.test_bundle import (
    lines_of,
    make_conductor,
    nothing_in,
    run_pair,
    seal,
    target,
    whole,
)

__all__ = ['target']  # a fixture


@pytest.fixture(scope='module')
async def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    async with make_conductor(tmp_path_factory.mktemp('good')) as conductor:
        return await whole(conductor, await run_pair(conductor))


async def expect_refusal(target: Conductor, data: bytes, match: str) -> BundleError:
    with pytest.raises(BundleError, match=match) as caught:
        await target.import_bundle(io.BytesIO(data))
    await nothing_in(target)
    return caught.value


async def test_a_truncated_file_is_refused(target: Conductor, good: bytes) -> None:
    for end in (0, 1, len(good) // 2, good.rindex(b'\n', 0, -1) + 1, len(good) - 1):
        await expect_refusal(target, good[:end], 'cut off|not a bundle')
    packed = gzip.compress(good)
    for end in (1, 10, len(packed) // 2, len(packed) - 4):
        await expect_refusal(target, packed[:end], 'cut off|not a bundle')
    await expect_refusal(target, good + b'{}\n', 'after its last line')
    await expect_refusal(target, b'{"some": "json"}\n', 'not a bundle')
    await expect_refusal(target, b'\x00\x01\x02', 'not a bundle')


async def test_a_bundle_of_an_unreleased_version_is_refused(target: Conductor, good: bytes) -> None:
    old = change_line(good, 'head', hemicycle='runs')
    for data in (old, gzip.compress(old)):
        error = await expect_refusal(target, data, 'unreleased')
        assert str(error) == 'this bundle is from an unreleased version of Hemicycle and cannot be read'


def change_line(data: bytes, which: str, /, **fields: Any) -> bytes:
    lines = lines_of(data)
    target_line = next(line for line in lines if line.get('kind', 'head') == which)
    for name, value in fields.items():
        place: Any = target_line
        *parents, last = name.split('__')
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        place[last] = value
    return seal(lines)


@pytest.mark.parametrize(
    ('kind', 'fields', 'match', 'field'),
    [
        ('head', {'version': 2, 'program': '9.9'}, 'newer version .9.9.: its format is 2', 'version'),
        ('head', {'runs': []}, 'not the run', 'info.id'),
        ('head', {'runs': ['../../etc']}, 'match pattern', 'runs.0'),
        ('head', {'runs': ['one']}, 'not the run', 'info.id'),
        ('run', {'info__owner': 'me'}, 'a bundle must not set', 'info'),
        ('run', {'info__seq': '5'}, 'valid integer', 'info.seq'),
        ('run', {'info__seq': 99}, 'has 99 steps', ''),
        ('run', {'info__created': float('nan')}, 'not a valid time', 'info.created'),
        ('run', {'info__novelty': 1}, 'Unexpected', 'info.novelty'),
        ('run', {'shape__states__0__path': 'a.b'}, 'not a valid state', 'shape.states.0.path'),
        ('run', {'shape__edges__0__dest': 'nowhere'}, 'does not join two states', 'shape.edges.0'),
        ('step', {'seq': 3}, 'step 1 is missing', 'seq'),
        ('step', {'seq': 0}, 'greater than or equal', 'seq'),
        ('step', {'active': ['elsewhere']}, "no state 'elsewhere'", 'active'),
        ('step', {'event__data': []}, 'be an object', 'event.data'),
        (
            'step',
            {'changes': [{'op': 'remove', 'path': '/memory/x/y', 'value': None}]},
            'does not fit',
            'changes',
        ),
        (
            'step',
            {'changes': [{'op': 'test', 'path': '/memory', 'value': None}]},
            'Input should be',
            'changes.0.op',
        ),
        ('object', {'digest': '0' * 64}, 'does not match its digest', 'digest'),
        ('object', {'digest': '../../../etc/passwd'}, 'match pattern', 'digest'),
        ('object', {'data': '***'}, 'not base64', 'data'),
        ('object', {'more': True}, 'rest of the content', ''),
        ('object', {'kind': 'novelty'}, 'novelty', ''),
    ],
)
async def test_the_problem_is_named(
    target: Conductor, good: bytes, kind: str, fields: dict[str, Any], match: str, field: str
) -> None:
    error = await expect_refusal(target, change_line(good, kind, **fields), match)
    assert error.field == field
    assert str(error).startswith(f'line {error.line}') and error.line > 0


async def test_a_file_with_a_wrong_checksum_is_refused(target: Conductor, good: bytes) -> None:
    await expect_refusal(
        target, good.replace(b'"raised":false', b'"raised":true ', 1), 'its checksum does not match'
    )


async def test_files_outside_their_folder_are_refused(target: Conductor, good: bytes) -> None:
    lines = lines_of(good)
    old = next(line for line in lines if line.get('event', {}).get('data', {}).get('snapshots'))
    digest = next(iter(old['event']['data']['snapshots'].values()))
    empty = hashlib.sha256(b'x').hexdigest()
    for tree in (
        {'../../outside': ['file', empty, 1, False]},
        {'..': ['folder', empty]},
        {'a/b': ['file', empty, 1, False]},
        {'a': ['file', '../x', 1, False]},
        {'a': ['device', empty]},
        {'a': ['file', empty, 5 << 30, False]},
    ):
        content = json.dumps(tree).encode()
        name = hashlib.sha256(content).hexdigest()
        forged = [json.loads(json.dumps(line).replace(digest, name)) for line in lines]
        for line in forged:
            if line.get('kind') == 'object' and line['digest'] == name:
                line['data'] = base64.b64encode(content).decode()
        error = await expect_refusal(target, seal(forged), 'not a snapshot|contains more')
        assert error.line == lines.index(old) + 1
    assert not (target.workspaces.root.parent / 'outside').exists()


async def test_a_bundle_cannot_exhaust_memory(target: Conductor, good: bytes, monkeypatch: Any) -> None:
    head, rest = good.split(b'\n', 1)
    await expect_refusal(
        target, gzip.compress(head + b'\n' + b' ' * (MAX_LINE + 5) + rest), 'longer than 16 MiB'
    )
    await expect_refusal(target, b'[' * (MAX_LINE + 5), 'longer than')
    await expect_refusal(target, head + b'\n' + b'{"kind":' + b'[' * 100_000 + b'\n', 'recursion|nested')
    monkeypatch.setattr(reader, 'MAX_UNPACKED_BYTES', 1)
    await expect_refusal(target, good, 'more than 1 bytes')
    monkeypatch.setattr(reader, 'MAX_UNPACKED_BYTES', 1 << 30)
    monkeypatch.setattr(validation, 'MAX_DOCUMENT', 100)
    await expect_refusal(target, good, 'bytes by then')


@pytest.mark.parametrize('seed', range(2))
async def test_mutated_bundles_are_imported_completely_or_not_at_all(
    tmp_path: Path, good: bytes, seed: int
) -> None:
    async with make_conductor(tmp_path / f'there{seed}') as target:

        async def take(data: bytes) -> None:
            try:
                [imported] = await target.import_bundle(io.BytesIO(data))
            except EngineError:
                await nothing_in(target)
                return
            info = await target.info(imported.id)
            assert info.status.ended and len(await target.transitions(imported.id)) == info.seq
            await target.view(imported.id)
            await target.journal.delete(imported.id)
            await target.workspaces.delete(imported.id)

        lines = good.splitlines(keepends=True)
        mutations = st.one_of(
            st.tuples(st.just('cut'), st.integers(0, len(good))),
            st.tuples(st.just('drop'), st.integers(0, len(lines) - 1)),
            st.tuples(st.just('twice'), st.integers(0, len(lines) - 1)),
            st.tuples(st.just('byte'), st.integers(0, len(good) - 1)),
            st.tuples(st.just('value'), st.integers(0, 10_000)),
        )
        loop = asyncio.get_running_loop()

        @settings(max_examples=15, suppress_health_check=list(HealthCheck), derandomize=True)
        @given(mutation=mutations, value=st.sampled_from([None, -1, 'x', [], {}, 1e308, True, [[]]]))
        def mutate(mutation: tuple[str, int], value: Any) -> None:
            kind, at = mutation
            at = (at + seed * 7919) % max(1, len(good) if kind in ('cut', 'byte') else len(lines))
            damaged = {
                'cut': lambda: good[:at],
                'drop': lambda: b''.join(lines[:at] + lines[at + 1 :]),
                'twice': lambda: b''.join([*lines[: at + 1], *lines[at:]]),
                'byte': lambda: good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :],
                'value': lambda: replace_value(lines_of(good), at, value),
            }[kind]()
            asyncio.run_coroutine_threadsafe(take(damaged), loop).result(60)

        await asyncio.to_thread(mutate)


def replace_value(lines: list[dict[str, Any]], at: int, value: Any) -> bytes:
    """Return the file with one value replaced and a valid checksum."""
    line = lines[at % len(lines)]
    node: Any = line
    for turn in range(at % 5):
        inner = [key for key, item in node.items() if isinstance(item, dict) and item]
        if not inner:
            break
        node = node[inner[turn % len(inner)]]
    key = list(node)[at % len(node)]
    node[key] = value
    return seal(lines)
