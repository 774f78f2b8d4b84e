"""Trace files: rejected and damaged ones, and the limits of an import."""

from __future__ import annotations

import gzip
import io
import json

import pytest

from engine import Conductor
from engine.errors import BundleError
from tests.unit.engine.history.traces.test_traces import (
    agent,
    chat,
    import_spans,
    make_output,
    memory_conductor,
    request_of,
    span,
)

__all__ = ['memory_conductor']  # a fixture
REJECTED: list[tuple[bytes, str]] = [
    (b'{"resourceSpans": [', 'it is not JSON'),
    (b'{"resourceSpans": []}\n{"resourceSpans": nothing}', 'line 2: it is not JSON'),
    (json.dumps(request_of()).encode(), 'it holds no spans of generative AI'),
    (json.dumps({'resourceSpans': 7}).encode(), 'resourceSpans: Input should be a valid list'),
    (
        json.dumps(request_of({**chat('a', '', (0, 1)), 'startTimeUnixNano': 'noon'})).encode(),
        r'resourceSpans\.0\.scopeSpans\.0\.spans\.0\.startTimeUnixNano: Input should be a valid integer',
    ),
    (
        json.dumps(request_of({**chat('a', '', (0, 1)), 'attributes': [7]})).encode(),
        r'spans\.0\.attributes: it is not a list of attributes',
    ),
    (json.dumps(request_of({**chat('a', '', (0, 1)), 'spanId': ''})).encode(), r'spans\.0\.spanId'),
    (gzip.compress(json.dumps(request_of()).encode(), mtime=0)[:40], 'cut off|not a bundle'),
]


@pytest.mark.parametrize(('file', 'problem'), REJECTED)
async def test_the_rejection_of_a_file_says_where_and_why(
    memory_conductor: Conductor, file: bytes, problem: str
) -> None:
    with pytest.raises(BundleError, match=problem):
        await memory_conductor.import_bundle(io.BytesIO(file))
    assert (await memory_conductor.runs()).total == 0


async def test_a_trace_beyond_the_limits_is_rejected(
    memory_conductor: Conductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = [agent(f'a{n}', f'a{n - 1}' if n else '', (0, 99)) for n in range(40)]
    with pytest.raises(BundleError, match=r'trace abab.*: its agents are nested more than 30 deep'):
        await import_spans(memory_conductor, *nested, chat('c', 'a39', (0, 1)))
    many = [agent(f'a{n}', '', (n, n + 0.5)) for n in range(400)]
    with pytest.raises(BundleError, match='a chart can have 333 agents at most'):
        await import_spans(memory_conductor, *many)
    monkeypatch.setattr('engine.history.traces.otlp.MAX_SPANS', 3)
    with pytest.raises(BundleError, match='at most 3 spans'):
        await import_spans(memory_conductor, *nested[:4])
    monkeypatch.setattr('engine.history.traces.otlp.MAX_TRACE_BYTES', 1 << 20)
    with pytest.raises(BundleError, match='may hold 1 MiB at most'):
        await import_spans(memory_conductor, chat('c', '', (0, 1), **make_output('x' * (1 << 20))))


async def test_a_damaged_span_tree_is_still_drawn(memory_conductor: Conductor) -> None:
    run = await import_spans(
        memory_conductor,
        agent('a', 'b', (0, 2)),
        agent('b', 'a', (1, 3)),
        span('n1', 'n2', (0, 1)),
        span('n2', 'n1', (0, 1)),
        chat('c', 'n1', (1, 2)),
        chat('d', 'gone', (4, 2)),
    )
    assert await memory_conductor.audit(run)
    assert (await memory_conductor.info(run)).usage.calls == 2
