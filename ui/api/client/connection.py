"""The connection to a server: retries requests where that is safe, and raises the engine's errors."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import httpx

from engine import EngineError, InvalidInput
from engine.errors import JournalError, JournalUnavailable, WorkspaceError
from ui.api.problems import KINDS
from ui.api.wire import decode
from ui.app.network import environment_proxies, network_problem

R = TypeVar('R')
CLASSES: Final = {kind: cls for cls, (_, kind) in KINDS.items()} | {'cannot-merge': WorkspaceError}
TIMEOUT: Final = httpx.Timeout(60.0, connect=5.0)
FIRST_PAUSE, MAX_PAUSE = 0.05, 1.0
TRANSIENT_STATUSES: Final = frozenset({429, 502, 503, 504})
"""Statuses after which a request is retried if that is safe."""


class ServerUnreachable(JournalUnavailable):
    """No server answers. `sent`: whether it may have received the request."""

    def __init__(self, problem: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(problem)


class Connection:
    """Requests to one server.

    Args:
        url: the server's address, as a browser opens it.
        patience: seconds for which requests are retried while the server does not answer.
        transport: carries the requests instead of the network.
        headers: sent with each request, such as a token.
        timeout: for requests that are not streams.
    """

    def __init__(
        self,
        url: str,
        *,
        patience: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: httpx.Timeout = TIMEOUT,
    ) -> None:
        try:
            base = httpx.URL(url.rstrip('/') + '/api/v1/')
        except httpx.InvalidURL as error:
            raise InvalidInput({'server': f'{url!r} is not an address: {error}'}) from None
        if base.scheme not in ('http', 'https') or not base.host:
            raise InvalidInput({'server': f'must be an address such as http://127.0.0.1:8080, not {url!r}'})
        self.url, self.patience = url.rstrip('/'), patience
        try:
            with environment_proxies():
                self.http = httpx.AsyncClient(
                    base_url=base, timeout=timeout, transport=transport, headers=dict(headers or {})
                )
        except httpx.ProxyError as error:
            raise InvalidInput({'server': f'{network_problem(error)}: {error}'}) from None

    async def close(self) -> None:
        """Close the HTTP client and its idle connections."""
        await self.http.aclose()

    async def get(self, path: str, **query: Any) -> Any:
        """Return the JSON value at a path. Raises `EngineError`."""
        return (await self.ask('GET', path, safe=True, params=_drop_missing(query))).json()

    async def one(self, record: type[R], path: str, **query: Any) -> R:
        """Return the record at a path. Raises `EngineError`."""
        return decode(record, await self.get(path, **query))

    async def many(self, record: type[R], path: str, **query: Any) -> list[R]:
        """Return the records at a path. Raises `EngineError`."""
        return [decode(record, item) for item in await self.get(path, **query)]

    async def create(self, path: str, body: Any) -> Any:
        """Create something once, however often the request is retried. Raises `EngineError`."""
        key = {'Idempotency-Key': uuid.uuid4().hex}
        return (await self.ask('POST', path, safe=True, json=body, headers=key)).json()

    async def steer(
        self, path: str, body: Any, *, method: str = 'POST', seen: int | None = None, key: str = ''
    ) -> Any:
        """Steer a run, once, however often the request is retried. Raises `EngineError`."""
        headers = {'Idempotency-Key': key or uuid.uuid4().hex}
        headers |= {} if seen is None else {'If-Match': f'"{seen}"'}
        return (await self.ask(method, path, safe=True, json=body, headers=headers)).json()

    async def do(self, path: str, body: Any, *, method: str = 'POST') -> Any:
        """Do something that must not happen twice. Raises `EngineError`."""
        return (await self.ask(method, path, safe=False, json=body)).json()

    async def ask(
        self, method: str, path: str, *, safe: bool, pending: bool = False, **options: Any
    ) -> httpx.Response:
        """Send a request, and retry it while the server cannot be reached.

        Args:
            method: the HTTP method.
            path: relative to the API's address.
            safe: whether the request may be repeated even if the server may have carried it out.
            pending: whether to return `not-ended` (409) instead of raising it.
            options: for the HTTP client.

        Raises:
            EngineError: the server reported it, or no server answered.
        """
        loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
        until = loop.time() + self.patience
        while True:
            try:
                answer = await self.http.request(method, path.lstrip('/'), **options)
            except httpx.ConnectError as error:
                problem: EngineError = self.unreachable(error, sent=False)
            except httpx.TransportError as error:
                problem = self.unreachable(error)
                if not safe:
                    raise problem from error
            else:
                if answer.is_success or (pending and answer.status_code == 409):
                    return answer
                problem = error_of(answer)
                again = answer.status_code in TRANSIENT_STATUSES if safe else _is_untouched(answer, problem)
                if not again:
                    raise problem
            if loop.time() + pause > until:
                raise problem
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)

    @asynccontextmanager
    async def stream(self, method: str, path: str, **options: Any) -> AsyncIterator[httpx.Response]:
        """Open a response whose body is read piece by piece. Raises `EngineError`."""
        try:
            async with self.http.stream(method, path.lstrip('/'), **options) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise error_of(answer)
                yield answer
        except httpx.TransportError as error:
            raise self.unreachable(error) from error

    def unreachable(self, error: Exception, *, sent: bool = True) -> ServerUnreachable:
        """Return the error for a server that does not answer."""
        return ServerUnreachable(f'no server answers at {self.url}: {network_problem(error)}', sent=sent)


def error_of(answer: httpx.Response) -> EngineError:
    """Return the engine's error that a problem describes, with its class and attributes."""
    try:
        problem = answer.json()
        kind, detail = problem['type'].rpartition(':')[2], str(problem['detail'])
    except (ValueError, KeyError, TypeError, AttributeError):
        return EngineError(f'the server answered {answer.status_code} {answer.reason_phrase}')
    error_class = CLASSES.get(kind, EngineError)
    error = error_class.__new__(error_class)
    vars(error).update(problem.get('about') or {})
    if isinstance(error, InvalidInput):
        error.problems = {item['field']: item['detail'] for item in problem.get('errors', ())}
    error.args = (detail,)
    return error


def _is_untouched(answer: httpx.Response, problem: EngineError) -> bool:
    """Whether nothing was done for certain; a journal that failed may already have stored something."""
    return answer.status_code == 503 and not isinstance(problem, JournalError)


def _drop_missing(query: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None and value != ''
    }
