"""A line to an endpoint: its connections, its gate, its models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx

from engine.clock import Clock
from engine.errors import ModelError
from engine.model import Completed, ModelEvent, ModelRequest
from engine.records import Usage
from engine.wire.client import call, listed
from engine.wire.endpoint import Endpoint
from engine.wire.gate import Gate
from engine.wire.prices import Prices


class Line:
    """An endpoint in use.

    Args:
        endpoint: where it is, and its ways.
        prices: what its models cost.
        transport: what carries its requests, if not the network.
        clock: what its pauses are measured with.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        prices: Prices | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.prices = prices or Prices()
        self._transport = transport
        self._gate = Gate(endpoint.at_once, clock)
        self._http: httpx.AsyncClient | None = None
        self._loop: Any = None

    @property
    def http(self) -> httpx.AsyncClient:
        """The connections; those of another event loop cannot be used."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.endpoint.at_once)
            self._http = httpx.AsyncClient(transport=self._transport, limits=limits, timeout=None)
            self._loop = loop
        return self._http

    def model(self, name: str) -> WireModel:
        """One of its models; whether there is such a one is found out when it is called."""
        return WireModel(self, name)

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Call a model once, when there is room. Raises `ModelError`."""
        try:
            async with (
                self._gate.passing(),
                aclosing(call(self.http, self.endpoint, model, request)) as events,
            ):
                async for event in events:
                    if isinstance(event, Completed):
                        cost = self.prices.cost(self.endpoint, model, event.usage)
                        yield replace(event, cost=cost)
                    else:
                        yield event
        except ModelError as error:
            if error.kind == 'rate limit':
                self._gate.pause(error.retry_after)
            raise

    async def models(self, within: float = 10.0) -> tuple[str, ...]:
        """The models that it lists.

        Args:
            within: seconds that it may take.

        Raises:
            ModelError: it cannot be reached, refuses the key, or is something else than it should be.
        """
        return await listed(self.http, self.endpoint, within)

    async def close(self) -> None:
        """Close the connections; they are opened again when they are needed."""
        http, self._http = self._http, None
        if http is not None and self._loop is asyncio.get_running_loop():
            await http.aclose()


class WireModel:
    """One model behind an endpoint."""

    simulated = False

    def __init__(self, line: Line, model: str) -> None:
        self._line, self._model = line, model
        self.name = f'{line.endpoint.name}/{model}'

    def price(self, usage: Usage) -> float | None:
        """Dollars for so much; None where the price is not known."""
        return self._line.prices.cost(self._line.endpoint, self._model, usage)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer piece by piece; cancelling or closing ends the connection. Raises `ModelError`."""
        async with aclosing(self._line.stream(self._model, request)) as events:
            async for event in events:
                yield event
