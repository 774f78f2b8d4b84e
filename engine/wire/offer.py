"""What models there are: those that were loaded, and those behind endpoints, by `endpoint/model`."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import httpx

from engine.clock import Clock
from engine.errors import ModelError
from engine.model import Model
from engine.wire.endpoint import Endpoint
from engine.wire.endpoints import Configured
from engine.wire.known import KNOWN
from engine.wire.line import Line

HOMES = {name: found.endpoint for name, found in KNOWN.items() if not found.key}
"""Servers on this machine: they need no configuration."""
HERE, FRESH = '', 30.0
"""This machine, in `look`; and the seconds that pass until it asks again."""
AT_HOME = 0.5
"""Seconds that a server on this machine has to say that it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How an endpoint is."""

    endpoint: str
    url: str
    models: tuple[str, ...] = ()
    problem: str = ''
    """What is wrong with it, or ''."""
    kind: str = ''
    """The kind of error, as of a `ModelError`; '' also where it could not even be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """An endpoint as a person sees it: nothing of it is secret."""

    endpoint: str
    url: str
    """Without a user and a password."""
    found: Literal['file', 'environment', 'this machine']
    key: str = ''
    """Where its key is, `env:NAME` or `keyring:SERVICE/USER`; '' where it has none."""
    models: tuple[str, ...] = ()
    """Those that are known of: what it lists is asked for by `Offer.test`."""
    problem: str = ''
    """Why it cannot be used as it is configured, or ''."""

    @property
    def here(self) -> bool:
        """Whether it is on this machine; it may still pass calls on to somebody who wants money for them."""
        return httpx.URL(self.url).host in ('localhost', '127.0.0.1', '::1')


class Offer(Mapping[str, Model]):
    """Models by name.

    Those that were loaded are listed; a name such as `openai/gpt-5` is looked up behind its endpoint, whether
    or not the endpoint lists it: that is found out when it is called.

    Args:
        loaded: by name.
        settings: the endpoints.
        transport: what carries requests, for each endpoint, if not the network.
        clock: what pauses are measured with.
    """

    def __init__(
        self,
        loaded: Mapping[str, Model],
        settings: Configured | None = None,
        *,
        transport: Callable[[Endpoint], httpx.AsyncBaseTransport | None] = lambda endpoint: None,
        clock: Clock | None = None,
    ) -> None:
        self._loaded = loaded
        self._settings = settings or Configured()
        self._transport, self._clock = transport, clock
        self._lines = {name: self._line(found) for name, found in self._settings.endpoints.items()}
        self._looked: dict[str, float] = {}
        """When endpoints were asked in `look`, by the event loop's time."""
        self._listed: dict[str, tuple[str, ...]] = {
            name: line.endpoint.models for name, line in self._lines.items()
        }

    def __getitem__(self, name: str) -> Model:
        if name in self._loaded:
            return self._loaded[name]
        endpoint, _, model = name.partition('/')
        if not model:
            raise KeyError(name)
        if endpoint not in self._lines and endpoint in HOMES:
            self._lines[endpoint] = self._line(HOMES[endpoint])
        return self._lines[endpoint].model(model)

    def __iter__(self) -> Iterator[str]:
        yield from self._loaded
        for endpoint, models in self._listed.items():
            yield from (f'{endpoint}/{model}' for model in models)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Those that are in use."""
        return tuple(line.endpoint for line in self._lines.values())

    def offered(self) -> list[Offered]:
        """The endpoints, and those that are configured and cannot be used; without asking any."""
        sources = self._settings.sources
        found = [
            Offered(
                endpoint=name,
                url=_shown(line.endpoint.url),
                found=sources[name].found if name in sources else 'this machine',
                key=sources[name].key if name in sources else '',
                models=self._listed[name],
            )
            for name, line in self._lines.items()
            if name in self._listed
        ]
        for name, problem in self._settings.missing.items():
            source = sources[name]
            url = _shown(source.url)
            found.append(Offered(endpoint=name, url=url, found=source.found, key=source.key, problem=problem))
        return found

    def unused(self) -> dict[str, str]:
        """Known providers that are not configured: for each, the environment variable of its key."""
        return {
            name: known.key
            for name, known in KNOWN.items()
            if known.key and name not in self._settings.sources
        }

    async def discover(self) -> None:
        """Find the servers on this machine, at their usual ports, that are not configured."""
        homes = [home for name, home in HOMES.items() if name not in self._listed]
        await asyncio.gather(*(self._find(endpoint) for endpoint in homes))

    async def look(self) -> None:
        """Ask all endpoints for their models, but for those that were asked not long ago, or have told them.

        What is found is in `offered`; what cannot be asked is passed over, for `test` to say why.
        """
        now = asyncio.get_running_loop().time()
        asked = [
            name
            for name in (*self._settings.endpoints, HERE)
            if now - self._looked.get(name, -math.inf) > FRESH and not self._listed.get(name)
        ]
        self._looked |= dict.fromkeys(asked, now)
        await asyncio.gather(*(self.discover() if name == HERE else self.test(name) for name in asked))

    async def test(self, endpoint: str) -> Health:
        """Ask an endpoint for its models, and say what is wrong with it."""
        if endpoint not in self._lines:
            problem = self._settings.missing.get(endpoint, 'there is no such endpoint')
            return Health(endpoint=endpoint, url='', problem=problem)
        line = self._lines[endpoint]
        try:
            listed = await line.models()
        except ModelError as error:
            return Health(endpoint=endpoint, url=line.endpoint.url, problem=error.problem, kind=error.kind)
        self._listed[endpoint] = line.endpoint.models or listed
        return Health(endpoint=endpoint, url=line.endpoint.url, models=self._listed[endpoint])

    async def health(self) -> list[Health]:
        """How all of them are; those that are configured and cannot be used are among them."""
        return list(await asyncio.gather(*map(self.test, [*self._lines, *self._settings.missing])))

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(line.close() for line in self._lines.values()))

    def _line(self, endpoint: Endpoint) -> Line:
        return Line(
            endpoint,
            prices=self._settings.prices,
            transport=self._transport(endpoint),
            clock=self._clock,
        )

    async def _find(self, endpoint: Endpoint) -> None:
        line = self._lines.get(endpoint.name) or self._line(endpoint)
        try:
            listed = await line.models(within=AT_HOME)
        except ModelError:
            await line.close()
            return
        self._lines[endpoint.name] = line
        self._listed[endpoint.name] = listed


def _shown(url: str) -> str:
    """An address without the user and the password that may be in it."""
    return re.sub(r'^(\w+://)[^/@]*@', r'\1', url)
