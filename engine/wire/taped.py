"""A call on tape: between the client and its connections, told by the request that it makes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import httpx

from engine.errors import ModelError
from engine.model import ModelEvent, ModelRequest
from engine.wire.endpoint import Endpoint
from engine.wire.take import label_of
from engine.wire.tape import Missed, Tape


@dataclass(frozen=True, slots=True)
class Taped:
    """The tape of a run, and which of its states calls."""

    tape: Tape
    state: str
    step: int

    async def send(
        self, http: httpx.AsyncClient, request: httpx.Request, endpoint: Endpoint, model: str, name: str
    ) -> httpx.Response:
        """Send a request and record it, or answer it from the recording."""
        label = label_of(endpoint, model, name, self.state, self.step)
        through = self.tape.over(_Through(http), endpoint.hide, label)
        return await through.handle_async_request(request)

    def model(self, name: str) -> Played | None:
        """The model of that name as it was recorded; None where nothing is replayed."""
        return Played(self.tape, name) if self.tape.mode == 'replay' else None


class Played:
    """A model that is known from a recording."""

    simulated = False

    def __init__(self, tape: Tape, name: str) -> None:
        self._tape, self._name = tape, name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer as it did. Raises `ModelError`."""
        from engine.wire.client import call

        label = self._tape.labels.get(self._name)
        if label is None:
            known = ', '.join(self._tape.labels) or 'none'
            raise Missed(self._tape.name, f'it has no calls of {self._name!r}; it has calls of: {known}')
        async with (
            httpx.AsyncClient(transport=_NoNetwork(), trust_env=False) as http,
            aclosing(call(http, Endpoint(**label.endpoint), label.wire, request)) as events,
        ):
            async for event in events:
                yield event


class _Through(httpx.AsyncBaseTransport):
    """A client, with its proxies and connections, as the transport beneath a tape."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._http.send(request, stream=True)


class _NoNetwork(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise ModelError('a replay calls nobody', kind='bad request')
