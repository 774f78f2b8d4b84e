"""Recorded streams with a value replaced or removed: they are read, or refused with a `ModelError`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from engine.journal.usage_records import usage_to_dict
from engine.models.protocol import CallStarted
from engine.records.jsonable import to_jsonable
from tests.models.reading import replay
from tests.models.test_provider_streams import DIALECTS, OWN

ODD = [
    *(None, True, 0, -1, 3.7, 1e300, float('nan'), 10**30, 2**63),
    *('', 'x', '12', 'error', '\ud800', [], {}, [1], [[]], [{}], [None], {'a': 1}),
]
EACH = 8
"""Mutations of each stream."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield (*path, name)
        yield from places(item, (*path, name))


def mutate(event: bytes, chance: random.Random) -> bytes:
    value = json.loads(event)
    *path, name = chance.choice([*places(value)])
    inside = value
    for part in path:
        inside = inside[part]
    if chance.random() < 0.15:
        del inside[name]
    else:
        inside[name] = chance.choice(ODD)
    return json.dumps(value).encode()


def mutations(body: bytes, chance: random.Random) -> Iterator[bytes]:
    lines = body.split(b'\n')
    events = [at for at, line in enumerate(lines) if line.startswith(b'data: {') and line.endswith(b'}')]
    for _ in range(EACH if events else 0):
        mutated = list(lines)
        for at in chance.sample(events, min(len(events), chance.choice([1, 1, 2]))):
            mutated[at] = b'data: ' + mutate(mutated[at][6:], chance)
        yield b'\n'.join(mutated)


STREAMS = [
    case
    for case in json.loads((OWN / 'manifest.json').read_text('utf-8'))['cases']
    if case['response'].endswith('.sse')
]


@pytest.mark.parametrize('case', STREAMS, ids=lambda case: case['id'])
async def test_a_mutated_stream_is_read_or_refused(case: dict[str, Any]) -> None:
    body = (OWN / case['response']).read_bytes()
    for changed in mutations(body, random.Random(case['id'])):
        result = await replay(changed, DIALECTS[case['dialect']])
        if result.error is not None:
            continue
        assert all(isinstance(event.name, str) for event in result.events if isinstance(event, CallStarted))
        assert to_jsonable({'message': result.message, 'usage': usage_to_dict(result.end.usage)})
        assert max(result.end.usage.input, result.end.usage.output) < 2**63
