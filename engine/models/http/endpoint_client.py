"""An endpoint in use: its connections, limits and models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal

import httpx

from engine.errors import ModelError
from engine.host.clock import Clock, RealClock
from engine.models.endpoint import Endpoint
from engine.models.http.call_hooks import CallCounts, CallHooks, CallTiming
from engine.models.http.call_limiter import CallLimiter
from engine.models.http.client import DIALECTS, call, list_models
from engine.models.http.prices import Prices
from engine.models.http.tls import tls_context
from engine.models.protocol import Completed, ModelEvent, ModelRequest, Waiting
from engine.models.usage_estimate import estimate_usage
from engine.records import Usage

FIRST_REFUSAL = 400
"""The lowest HTTP status of a refused call, which used no tokens."""


class EndpointClient:
    """An endpoint in use.

    Args:
        endpoint: its address and quirks.
        prices: the prices of its models.
        transport: replaces the network.
        clock: measures its pauses.
        hooks: measure its calls, and limit them across processes.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        prices: Prices | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
        hooks: CallHooks | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.prices = prices or Prices()
        self._transport = transport
        self._clock = clock or RealClock()
        self._hooks = hooks or CallHooks()
        self._limiter = CallLimiter(
            endpoint.at_once,
            self._clock,
            requests=endpoint.requests_per_minute,
            tokens=endpoint.tokens_per_minute,
        )
        self._down_until = 0.0
        self._http: httpx.AsyncClient | None = None
        self._loop: Any = None

    @property
    def http(self) -> httpx.AsyncClient:
        """The HTTP client, which works only in the event loop that created it. Raises `ModelError`."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.endpoint.at_once)
            try:
                self._http = httpx.AsyncClient(
                    transport=self._transport, limits=limits, timeout=None, verify=tls_context(self.endpoint)
                )
            except (ValueError, OSError, ImportError, httpx.InvalidURL) as error:
                problem = f'the proxy or the certificates that the environment names cannot be used: {error}'
                raise ModelError(
                    f'{self.endpoint.name}: {self.endpoint.hide(problem)}', kind='bad request'
                ) from None
            self._loop = loop
        return self._http

    def model(self, name: str) -> EndpointModel:
        """Return one of its models; if there is no such model, calling it fails."""
        return EndpointModel(self, name)

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Call a model once, as soon as the endpoint's limits allow. Raises `ModelError`."""
        most = request.most_tokens or self.endpoint.most_tokens
        shared = self._hooks.share(self.endpoint)
        async with self._limiter.admission(self._estimate(request), most, shared) as admission:
            async with aclosing(admission.wait_to_start()) as waits:
                async for wait in waits:
                    yield wait
            if admission.waited:
                yield Waiting(reason='')
            try:
                async with aclosing(self._call(model, request)) as events:
                    async for event in events:
                        if isinstance(event, Completed):
                            admission.record_usage(event.usage)
                        yield event
            except ModelError as error:
                if error.usage is not None:
                    admission.record_tokens(error.usage.total)
                elif error.status >= FIRST_REFUSAL or error.kind == 'connection':
                    admission.record_tokens(0)
                raise

    def _estimate(self, request: ModelRequest) -> int:
        """Estimate the input tokens of a request; 0 if tokens are not limited."""
        return estimate_usage(request, 0).input if self.endpoint.tokens_per_minute else 0

    @property
    def counts(self) -> CallCounts:
        """Number of its calls waiting and running now."""
        return self._limiter.counts

    async def _call(self, model: str, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Make the call, price it, and report how long it took."""
        began = self._clock.now()
        outcome: Literal['ok', 'failed', 'cancelled'] = 'cancelled'
        try:
            async with aclosing(call(self.http, self.endpoint, model, request)) as events:
                async for event in events:
                    if isinstance(event, Completed):
                        outcome = 'ok'
                        cost = self.prices.cost(
                            self.endpoint,
                            model,
                            event.usage,
                            charged=event.cost,
                            written_hour=event.written_hour,
                        )
                        yield replace(event, cost=cost)
                    else:
                        yield event
        except ModelError as error:
            outcome = 'failed'
            error.attempts, error.patience = self.endpoint.attempts, self.endpoint.patience
            if error.kind == 'rate limit':
                self._limiter.pause(error.retry_after, self._hooks.share(self.endpoint))
            elif error.kind == 'connection' and self._down_until:  # Still down.
                self.mark_down()
            raise
        finally:
            name, seconds = f'{self.endpoint.name}/{model}', self._clock.now() - began
            self._hooks.measure(CallTiming(model=name, seconds=seconds, outcome=outcome))
        self._down_until = 0.0

    @property
    def down(self) -> bool:
        """Whether it was unreachable recently and should not be tried again yet."""
        return self._clock.now() < self._down_until

    def mark_down(self) -> None:
        """Remember for a while that it is unreachable."""
        self._down_until = self._clock.now() + self.endpoint.down_seconds

    async def models(self, within: float = 10.0) -> tuple[str, ...]:
        """Return the models it lists.

        Args:
            within: timeout in seconds.

        Raises:
            ModelError: the endpoint is unreachable, rejects the key, or is not a model endpoint.
        """
        return await list_models(self.http, self.endpoint, within)

    async def close(self) -> None:
        """Close the connections; they reopen on demand."""
        http, self._http = self._http, None
        if http is not None and self._loop is asyncio.get_running_loop():
            await http.aclose()


class EndpointModel:
    """A model that is reached through an endpoint."""

    simulated = False

    def __init__(self, client: EndpointClient, model: str) -> None:
        self._client, self._model = client, model
        self.name = f'{client.endpoint.name}/{model}'

    def price(self, usage: Usage) -> float | None:
        """Return the cost of this usage in dollars; None if the price is unknown."""
        return self._client.prices.cost(self._client.endpoint, self._model, usage)

    @property
    def attempts(self) -> int | None:
        """Maximum number of attempts per call; None means the agent's own setting."""
        return self._client.endpoint.attempts

    @property
    def largest_call(self) -> Usage | None:
        """The most tokens one call can use; None if that is unknown."""
        return self._client.prices.largest_call(self._client.endpoint, self._model)

    def cache_saving(self, usage: Usage) -> float | None:
        """Return the dollars that the provider's cache saved on this usage; None if the price is unknown."""
        return self._client.prices.cache_saving(self._client.endpoint, self._model, usage)

    def effort_problem(self, effort: str) -> str:
        """Return why it does not accept a reasoning effort, or ''."""
        endpoint = self._client.endpoint
        return DIALECTS[endpoint.dialect].effort_problem(self._model, effort, endpoint)

    @property
    def down(self) -> bool:
        """Whether its endpoint was unreachable recently."""
        return self._client.down

    def mark_down(self) -> None:
        """Remember for a while that its endpoint is unreachable."""
        self._client.mark_down()

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Stream the answer; cancelling or closing ends the connection. Raises `ModelError`."""
        return self._client.stream(self._model, request)
