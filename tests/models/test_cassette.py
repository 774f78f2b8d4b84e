"""Recordings: their contents, exact offline replay, and the message for a miss."""

import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.errors import EngineError, ModelError
from engine.models.http.endpoint_client import EndpointClient
from engine.models.http.sse_reader import DRAIN
from engine.models.protocol import ModelEvent, ModelRequest, TextPiece
from engine.models.recording.cassette import Cassette, CassetteMiss, Mode, describe_nearest
from engine.models.recording.exchange import number_ids
from engine.models.recording.recorded_call import RecordedCall
from tests.models.reading import ChunkedBody, endpoint, make_request
from tests.models.speech import OpenAISpeech

speech = OpenAISpeech()
KEY = 'k-very-secret-1234'
BODY = speech.start + speech.say('Grüß dich') + speech.stop + speech.report_usage(3) + speech.end


class Provider:
    """Answers in turn, in small pieces."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        pieces = [body[at : at + 10] for at in range(0, len(body), 10)]
        headers = {'content-type': 'text/event-stream', 'set-cookie': f'id={KEY}', 'retry-after': '2'}
        return httpx.Response(status, headers=headers, stream=ChunkedBody(pieces))


class Line(EndpointClient):
    """An endpoint whose calls go through a cassette."""

    def __init__(self, path: Path, mode: Mode, provider: Any = None) -> None:
        super().__init__(endpoint(key=KEY), transport=httpx.MockTransport(provider or Provider()))
        self._carrier = RecordedCall(Cassette(path, mode), 'state', 1)

    def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        return super().stream(model, replace(request, carrier=self._carrier))


async def collect(over: EndpointClient, request: ModelRequest | None = None) -> list[Any]:
    try:
        return [event async for event in over.model('m').stream(request or make_request())]
    except ModelError as error:
        return [(type(error).__name__, error.kind, error.retry_after, str(error))]


async def test_a_recording_replays_identically(tmp_path: Path) -> None:
    path = tmp_path / 'run' / 'tape.jsonl'
    refusal = speech.refusal(f'No: {KEY}', 'rate_limit_error')
    provider = Provider(BODY, httpx.ConnectError('refused'), (429, refusal), BODY[:-90], BODY)
    recording = Line(path, 'record', provider)
    recording._limiter.pause = lambda *args: None  # type: ignore[method-assign]
    recorded = [await collect(recording) for _ in range(4)]
    recorded.append(await collect(recording, make_request('Something else')))
    replaying = Line(path, 'replay')
    replaying._limiter.pause = lambda *args: None  # type: ignore[method-assign]
    other = await collect(replaying, make_request('Something else'))
    replayed = [await collect(replaying) for _ in range(4)]
    assert [*replayed, other] == recorded
    assert provider.asked == 5
    assert [item[0][:3] for item in recorded[1:3]] == [
        ('ModelError', 'connection', None), ('ModelError', 'rate limit', 2.0),
    ]  # fmt: skip


async def test_no_secret_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / 'tape.jsonl'
    body = speech.refusal(f'Wrong key {KEY}', 'authentication_error')

    def answer(request: httpx.Request) -> httpx.Response:
        assert KEY in request.headers['authorization']
        return httpx.Response(401, content=body, headers={'set-cookie': KEY, 'x-account': KEY})

    await collect(Line(path, 'record', answer))
    text = path.read_text('utf-8')
    assert 'Wrong key [hidden]' in text and KEY not in text


async def test_a_cancelled_read_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / 'tape.jsonl'
    stream: Any = Line(path, 'record', Provider(BODY)).model('m').stream(make_request())
    while not isinstance(await anext(stream), TextPiece):
        pass
    await stream.aclose()
    events = await collect(Line(path, 'replay'))
    assert events[0][1] == 'truncated'


async def test_a_miss_shows_the_difference(tmp_path: Path) -> None:
    path = tmp_path / 'tape.jsonl'
    await collect(Line(path, 'record', Provider(BODY)), make_request('Say something about the weather'))
    replaying = Line(path, 'replay')
    (problem,) = await collect(replaying, make_request('Say something about the sea', temperature=0.5))
    assert problem[1] == 'bad request'
    assert 'tape.jsonl has no answer (left)' in problem[3]
    assert "body.messages[0].content: recorded 'Say something about the weather'" in problem[3]
    assert 'body.temperature: recorded None, asked 0.5' in problem[3]
    assert await collect(replaying, make_request('Say something about the weather'))
    (problem,) = await collect(replaying, make_request('Say something about the weather'))
    assert 'all recorded answers have been used' in problem[3]


def test_differences_are_shown_where_they_are() -> None:
    old = {'method': 'POST', 'url': 'u', 'body': {'text': 'x' * 500 + 'old', 'list': [1, 2], 'gone': 1}}
    new = {'method': 'POST', 'url': 'u', 'body': {'text': 'x' * 500 + 'new', 'list': [1], 'more': 2}}
    description = describe_nearest(new, [{**new, 'url': 'far', 'body': 'away', 'method': 'GET'}, old])
    assert "old'" in description and "new'" in description and 'body.list: 2 recorded, 1 asked' in description
    assert (
        len(describe_nearest({**new, 'body': list(range(50))}, [{**old, 'body': list(range(1, 51))}])) < 400
    )


@pytest.mark.parametrize('text', ['{\n', '[]\n', '[1]\n', '{"key": 1}\n', '{"pieces": [[1]]}\n'])
def test_a_damaged_recording_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / 'tape').write_text(text)
    with pytest.raises(EngineError, match='cannot be read'):
        Cassette(tmp_path / 'tape', 'replay')
    with pytest.raises(EngineError, match='cannot be read'):
        Cassette(tmp_path / 'none', 'replay')


def test_a_miss_is_not_retried() -> None:
    assert not CassetteMiss('tape', 'all').retryable


async def test_an_unfinished_line_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / 'tape.jsonl'
    recorded = await collect(Line(path, 'record', Provider(BODY)))
    with path.open('ab') as file:
        file.write(b'{"key": "x", "pie')
    assert await collect(Line(path, 'replay')) == recorded


async def test_a_secret_split_across_chunks_is_hidden(tmp_path: Path) -> None:
    path = tmp_path / 'tape.jsonl'
    body = speech.start + speech.say(f'Grüß dich, {KEY}') + speech.stop + speech.end
    for cut in (body.index(KEY.encode()) + 4, body.index('ü'.encode()) + 1):

        def answer(request: httpx.Request, cut: int = cut) -> httpx.Response:
            headers = {'content-type': 'text/event-stream'}
            return httpx.Response(200, headers=headers, stream=ChunkedBody([body[:cut], body[cut:]]))

        await collect(Line(path, 'record', answer))
    assert KEY not in path.read_text('utf-8')
    replaying = Line(path, 'replay')
    for _ in range(2):
        assert TextPiece(text='Grüß dich, [hidden]') in await collect(replaying)


def test_requests_match_regardless_of_call_ids() -> None:
    def body(first: str, second: str, item: str = 'a') -> dict[str, Any]:
        calls = [{'id': first, 'function': {'arguments': '{}'}}, {'id': second}]
        used = {'type': 'tool_use', 'id': first, 'input': {'id': item}}
        return {'messages': [{'tool_calls': calls}, {'tool_call_id': second}, {'content': [used]}]}

    assert number_ids(body('call-7-1', 'call-7-2')) == number_ids(body('call-9-1', 'call-9-2'))
    assert number_ids(body('x', 'y')) != number_ids(body('x', 'x'))
    assert number_ids(body('x', 'y')) != number_ids(body('x', 'y', 'b'))


async def test_an_exchange_is_stored_before_its_call_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / 'tape.jsonl', Cassette._write

    def slowly(self: Cassette, line: bytes) -> None:
        time.sleep(2 * DRAIN)
        write(self, line)

    monkeypatch.setattr(Cassette, '_write', slowly)
    await collect(Line(path, 'record', Provider(BODY)))
    assert len(path.read_bytes().splitlines()) == 1


async def test_a_redirect_keeps_its_location_in_a_recording(tmp_path: Path) -> None:
    def redirect(request: httpx.Request) -> httpx.Response:
        return httpx.Response(307, headers={'location': f'https://other.example/?k={KEY}'})

    path = tmp_path / 'tape.jsonl'
    for mode in ('record', 'replay'):
        (problem,) = await collect(Line(path, mode, redirect))  # type: ignore[arg-type]
        assert problem[3] == 'here: it redirects to https://other.example/?k=[hidden]'
