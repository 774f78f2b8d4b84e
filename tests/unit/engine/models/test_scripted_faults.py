"""Every failure a scenario can request, as the real client sees it over HTTP."""

from pathlib import Path
from typing import get_args

import pytest

from engine.errors import TRANSIENT_KINDS, Kind, ModelError
from engine.models.http.fake_server import FAILURES
from engine.models.protocol import Hints, ModelEvent, ModelRequest, Started, TextPiece
from engine.models.scripted.model import Scripted
from engine.records.message import Message

SCENARIO = """
name: sample
title: A sample
about: For the tests.
pattern: pipeline
task: Weigh the apples
match: [apples]
roles:
  researcher:
    - - text: one two three four
        fail: {{kind: {kind}, message: It said no, retry_after: 2.5, after: {after}, retryable: {retryable}}}
expect: {{status: failed}}
"""


async def expect_failure(
    folder: Path, kind: str, after: int, retryable: bool = True
) -> tuple[list[ModelEvent], ModelError]:
    text = SCENARIO.format(kind=kind, after=after, retryable=str(retryable).lower())
    (folder / 'sample.yaml').write_text(text, 'utf-8')
    hints = Hints(pattern='pipeline', role='researcher', state='researcher', task='Weigh the apples')
    request = ModelRequest(model='scripted', messages=(Message.of('user', 'Go'),), hints=hints)
    events: list[ModelEvent] = []
    model = Scripted(pace=1_000_000, folder=folder)
    assert model.faults == ()
    with pytest.raises(ModelError) as caught:
        async for event in model.stream(request):
            events.append(event)
    return events, caught.value


@pytest.mark.parametrize('kind', get_args(Kind))
@pytest.mark.parametrize('after', [0, 2])
async def test_a_scripted_failure_looks_like_a_real_one(tmp_path: Path, kind: str, after: int) -> None:
    events, error = await expect_failure(tmp_path, kind, after)
    if kind == 'connection':  # Unreachable, so no text was streamed.
        after = 0
    pieces = [event for event in events if not isinstance(event, Started)]
    assert len(pieces) == after and all(isinstance(event, TextPiece) for event in pieces)
    assert (error.kind, error.retryable) == (kind, kind in TRANSIENT_KINDS)
    assert 'It said no' in str(error)
    if kind in FAILURES:
        assert error.status == FAILURES[kind][0]
        assert error.retry_after == 2.5


async def test_a_transient_failure_may_be_permanent(tmp_path: Path) -> None:
    _, error = await expect_failure(tmp_path, 'overloaded', 0, retryable=False)
    assert not error.retryable
