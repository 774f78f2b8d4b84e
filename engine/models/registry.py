"""The model registry: loaded models, and those behind endpoints as `endpoint/model`."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Literal

import httpx

from engine.errors import ModelError
from engine.host.clock import Clock
from engine.models.endpoint import Endpoint
from engine.models.http.call_hooks import CallCounts, CallHooks
from engine.models.http.endpoint_client import EndpointClient
from engine.models.http.endpoint_settings import EndpointSettings
from engine.models.http.known_providers import KNOWN_PROVIDERS
from engine.models.http.tls import tls_context
from engine.models.protocol import Model, ModelRequest, Timeouts
from engine.records import Usage
from engine.records.message import Message

LOCAL_ENDPOINTS = {name: provider.endpoint for name, provider in KNOWN_PROVIDERS.items() if not provider.key}
"""Local servers, which need no configuration."""
PROVIDERS = {name: provider.key for name, provider in KNOWN_PROVIDERS.items()}
"""The known providers, with the environment variables of their keys; '' for servers on this machine."""
THIS_MACHINE, ASK_AGAIN_AFTER = '', 30.0
"""The key for this machine in `refresh`, and the minimum seconds between two refreshes."""
LOCAL_TIMEOUT = 0.5
"""Seconds a local server has to respond."""


NO_LIST = ('not found', 'bad response', 'bad request')
"""Error kinds of servers that list no models but may answer calls."""
UNREACHABLE = ('connection', 'timeout')
"""Error kinds after which a call would fail too. After others it may succeed: some keys permit only calls."""
TEST_CALL = ModelRequest(
    model='',
    messages=(Message.of('user', 'Answer with the word OK.'),),
    most_tokens=500,  # Leaves room for some thinking: with fewer, reasoning models fail.
    timeouts=Timeouts(first=30, idle=30, total=60),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointHealth:
    """An endpoint with the models it lists, or why it cannot be used."""

    endpoint: str
    url: str
    models: tuple[str, ...] = ()
    problem: str = ''
    """Why it does not work, or ''."""
    kind: str = ''
    """The kind of error, as in `ModelError`; also '' if no request could be sent."""
    called: str = ''
    """The model that answered a test call, if one was made."""
    at: float = 0.0
    """When it was tested, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointInfo:
    """An endpoint as shown to people; contains no secrets."""

    endpoint: str
    url: str
    """Without user and password."""
    found: Literal['file', 'environment', 'this machine']
    key: str = ''
    """Where its key is kept, such as `env:NAME`; '' if it has none."""
    models: tuple[str, ...] = ()
    """Known models; `test` asks the endpoint for its full list."""
    at_once: int = 0
    """Maximum number of calls in flight; the limits per minute are None if there are none."""
    ca: str = ''
    """The file of trusted certificates, if not the system's; `certificate`: the client certificate's."""
    certificate: str = ''
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    problem: str = ''
    """Why it is unusable as configured, or ''."""
    tested: EndpointHealth | None = None
    """Its last test, unless it has been changed since."""

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine; it may still forward calls to a paid provider."""
        return httpx.URL(self.url).host in ('localhost', '127.0.0.1', '::1')


class ModelRegistry(Mapping[str, Model]):
    """Models by name.

    Iteration yields the loaded models and those that endpoints list. A name such as `openai/gpt-5` resolves
    even if its endpoint does not list it; if there is no such model, calling it fails.

    Args:
        loaded: models by name.
        settings: the endpoint configuration.
        transport: returns the transport that replaces the network for an endpoint, or None.
        clock: measures pauses.
        agents: external agents by name; iteration does not include them.
    """

    def __init__(
        self,
        loaded: Mapping[str, Model],
        settings: EndpointSettings | None = None,
        *,
        transport: Callable[[Endpoint], httpx.AsyncBaseTransport | None] = lambda endpoint: None,
        clock: Clock | None = None,
        agents: Mapping[str, Model] | None = None,
    ) -> None:
        self._loaded = loaded
        self.agents: Mapping[str, Model] = agents or {}
        self._settings = settings or EndpointSettings()
        self._transport, self._clock = transport, clock
        self.hooks = CallHooks()
        """Measures the calls of all endpoints, and limits them across processes."""
        self._clients = {
            name: self._make_client(configured) for name, configured in self._settings.endpoints.items()
        }
        self._asked_at: dict[str, float] = {}
        """When `refresh` last asked each endpoint, by the event loop's time."""
        self._listed: dict[str, tuple[str, ...]] = {
            name: client.endpoint.models for name, client in self._clients.items()
        }

    def __getitem__(self, name: str) -> Model:
        if name in self._loaded:
            return self._loaded[name]
        if name in self.agents:
            return self.agents[name]
        endpoint, _, model = name.partition('/')
        if not model:
            raise KeyError(name)
        if endpoint not in self._clients and endpoint in LOCAL_ENDPOINTS:
            self._clients[endpoint] = self._make_client(LOCAL_ENDPOINTS[endpoint])
        return self._clients[endpoint].model(model)

    def __iter__(self) -> Iterator[str]:
        yield from self._loaded
        for endpoint, models in self._listed.items():
            yield from (f'{endpoint}/{model}' for model in models)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def configure(self, settings: EndpointSettings) -> None:
        """Replace the configuration; calls in flight keep the old one."""
        self._settings = settings
        discovered = {
            name: client
            for name, client in self._clients.items()
            if name in LOCAL_ENDPOINTS and name not in settings.endpoints
        }
        self._clients = discovered | {
            name: self._make_client(endpoint) for name, endpoint in settings.endpoints.items()
        }
        self._asked_at.clear()
        self._listed = {
            name: client.endpoint.models or (self._listed.get(name, ()) if name in discovered else ())
            for name, client in self._clients.items()
            if name in settings.endpoints or name in self._listed
        }

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints as configured, without unusable ones."""
        return tuple(client.endpoint for client in self._clients.values())

    @property
    def call_counts(self) -> dict[str, CallCounts]:
        """The current calls of each endpoint in use, by its name."""
        return {name: client.counts for name, client in self._clients.items()}

    @property
    def agent_names(self) -> Collection[str]:
        """The names of the external agents."""
        return self.agents.keys()

    def cache_saving(self, used: Mapping[str, Usage]) -> float | None:
        """Return the dollars that providers' caches saved on this usage by model; None if a price is unknown.

        Blocks: it may read the price list.
        """
        saved = 0.0
        for name, usage in used.items():
            if not (usage.cached or usage.written):
                continue
            saving_of = getattr(self.get(name), 'cache_saving', None)
            saving = saving_of(usage) if saving_of else None
            if saving is None:
                return None
            saved += saving
        return saved

    def endpoint_infos(self) -> list[EndpointInfo]:
        """Return all endpoints, including configured but unusable ones, without contacting any."""
        sources = self._settings.sources
        infos = [
            EndpointInfo(
                endpoint=name,
                url=_without_login(client.endpoint.url),
                found=sources[name].found if name in sources else 'this machine',
                key=sources[name].key if name in sources else '',
                models=self._listed[name],
                at_once=client.endpoint.at_once,
                ca=client.endpoint.ca,
                certificate=client.endpoint.certificate,
                requests_per_minute=client.endpoint.requests_per_minute,
                tokens_per_minute=client.endpoint.tokens_per_minute,
            )
            for name, client in self._clients.items()
            if name in self._listed
        ]
        for name, problem in self._settings.missing.items():
            source = sources[name]
            url = _without_login(source.url)
            infos.append(
                EndpointInfo(endpoint=name, url=url, found=source.found, key=source.key, problem=problem)
            )
        return infos

    def unconfigured(self) -> dict[str, str]:
        """Known providers that are not configured, with the environment variables of their keys."""
        return {
            name: provider.key
            for name, provider in KNOWN_PROVIDERS.items()
            if provider.key and name not in self._settings.sources
        }

    async def discover(self) -> None:
        """Find unconfigured local servers at their usual ports."""
        local = [candidate for name, candidate in LOCAL_ENDPOINTS.items() if name not in self._listed]
        with suppress(ValueError, OSError):  # From a file named in the environment; `_find` handles it too.
            # Loads the trusted certificates once for all of them: 20 ms that must not block the event loop.
            await asyncio.to_thread(tls_context, next(iter(LOCAL_ENDPOINTS.values())))
        await asyncio.gather(*(self._find(endpoint) for endpoint in local))

    async def refresh(self) -> None:
        """Ask all endpoints for their models, except those asked recently or already known.

        The results appear in `endpoint_infos`. Unreachable endpoints are skipped; `test` reports why.
        """
        now = asyncio.get_running_loop().time()
        due = [
            name
            for name in (*self._settings.endpoints, THIS_MACHINE)
            if now - self._asked_at.get(name, -math.inf) > ASK_AGAIN_AFTER and not self._listed.get(name)
        ]
        self._asked_at |= dict.fromkeys(due, now)
        await asyncio.gather(*(self.discover() if name == THIS_MACHINE else self._list(name) for name in due))

    async def test(self, endpoint: str, model: str = '') -> EndpointHealth:
        """Ask an endpoint for its models and call one; report any problem.

        The call asks for one word and may cost a fraction of a cent. By default it goes to the first model
        that is configured, or to a small one of a known provider; if there is neither, none is made. Servers
        that list no models are tested by the call alone.
        """
        health = await self._list(endpoint)
        client = self._clients.get(endpoint)
        if client is None or health.kind in UNREACHABLE:
            return health
        model = (
            model or next(iter(client.endpoint.models), '') or _small_model(client.endpoint, health.models)
        )
        if not model:
            if health.kind in NO_LIST:
                problem = f'{health.problem}; if it lists no models, name some in `models` to call'
                return replace(health, problem=problem)
            return health
        try:
            async with aclosing(client.stream(model, TEST_CALL)) as events:
                async for _ in events:
                    pass
        except ModelError as error:
            problem = f'{endpoint}: {model}: {error.problem.removeprefix(f"{endpoint}: ")}'
            return replace(health, problem=problem, kind=error.kind)
        self._listed[endpoint] = models = client.endpoint.models or health.models or (model,)
        return replace(health, models=models, problem='', kind='', called=model)

    async def _list(self, endpoint: str) -> EndpointHealth:
        """Ask an endpoint for its models; costs nothing."""
        if endpoint not in self._clients:
            problem = self._settings.missing.get(endpoint, 'there is no such endpoint')
            return EndpointHealth(endpoint=endpoint, url='', problem=problem)
        client = self._clients[endpoint]
        url = _without_login(client.endpoint.url)
        try:
            listed = await client.models()
        except ModelError as error:
            return EndpointHealth(endpoint=endpoint, url=url, problem=error.problem, kind=error.kind)
        self._listed[endpoint] = client.endpoint.models or listed
        return EndpointHealth(endpoint=endpoint, url=url, models=self._listed[endpoint])

    async def health(self) -> list[EndpointHealth]:
        """Return the health of all endpoints, including configured but unusable ones."""
        return list(await asyncio.gather(*map(self.test, [*self._clients, *self._settings.missing])))

    async def close(self) -> None:
        """Close the connections of all endpoints."""
        await asyncio.gather(*(client.close() for client in self._clients.values()))

    def _make_client(self, endpoint: Endpoint) -> EndpointClient:
        return EndpointClient(
            endpoint,
            prices=self._settings.prices,
            transport=self._transport(endpoint),
            clock=self._clock,
            hooks=self.hooks,
        )

    async def _find(self, endpoint: Endpoint) -> None:
        client = self._clients.get(endpoint.name) or self._make_client(endpoint)
        try:
            listed = await client.models(within=LOCAL_TIMEOUT)
        except ModelError:
            await client.close()
            return
        self._clients[endpoint.name] = client
        self._listed[endpoint.name] = listed


def _small_model(endpoint: Endpoint, listed: Collection[str]) -> str:
    """Return a small model among those that a known provider lists, or ''."""
    for beginning in endpoint.small_models:
        if beginning in listed:
            return beginning
        if dated := [name for name in listed if name.startswith(beginning)]:
            return max(dated)
    return ''


def _without_login(url: str) -> str:
    """Return a URL without its user and password."""
    return re.sub(r'^(\w+://)[^/@]*@', r'\1', url)
