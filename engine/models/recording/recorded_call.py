"""Recorded calls: a model call sent through a cassette, between the client and its connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import httpx

from engine.errors import ModelError
from engine.models.endpoint import Endpoint
from engine.models.protocol import ModelEvent, ModelRequest, Send
from engine.models.recording.cassette import Cassette, CassetteMiss
from engine.models.recording.exchange import label_call


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A run's cassette and the calling state."""

    cassette: Cassette
    state: str
    step: int

    async def send(
        self, send: Send, request: httpx.Request, endpoint: Endpoint, model: str, name: str
    ) -> httpx.Response:
        """Send a request and record it, or answer it from the recording."""
        label = label_call(endpoint, model, name, self.state, self.step)
        return await self.cassette.send(request, send, endpoint.hide, label)

    def model(self, name: str) -> ReplayedModel | None:
        """Return the recorded model of that name; None if nothing is being replayed."""
        return ReplayedModel(self.cassette, name) if self.cassette.mode == 'replay' else None


class ReplayedModel:
    """A model known only from a recording."""

    simulated = False

    def __init__(self, cassette: Cassette, name: str) -> None:
        self._cassette, self._name = cassette, name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Stream the recorded answer. Raises `ModelError`."""
        from engine.models.http.client import call

        label = self._cassette.labels.get(self._name)
        if label is None:
            labels = ', '.join(self._cassette.labels) or 'none'
            raise CassetteMiss(
                self._cassette.name, f'it has no calls of {self._name!r}; it has calls of: {labels}'
            )
        async with (
            httpx.AsyncClient(transport=_NoNetwork(), trust_env=False) as http,
            aclosing(call(http, Endpoint(**label.endpoint), label.wire, request)) as events,
        ):
            async for event in events:
                yield event


class _NoNetwork(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise ModelError('a replay makes no calls', kind='bad request')
