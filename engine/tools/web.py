"""Web: fetches pages from the public network, connecting only to the address that was checked."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

import httpx

from engine.errors import ToolError
from engine.records.jsonable import describe_error

Address = IPv4Address | IPv6Address

MAX_BODY_BYTES = 4 << 20
MAX_HOPS = 5
TIMEOUT_SECONDS = 30.0
WRAPPED = ('64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32', '::/96', '::ffff:0:0:0/96')
"""IPv6 networks that embed an IPv4 address, which must be checked too."""
LOCAL = ('168.63.129.16/32', '192.0.0.0/24', '192.88.99.0/24', '3fff::/20')
"""Networks that some or all Python versions consider public: Azure's internal services for its machines, and
networks for protocols, relays and documentation."""
HEADERS = {
    'User-Agent': 'Hemicycle',
    'Accept': 'text/html, text/*;q=0.9, application/json;q=0.8, */*;q=0.1',
    'Accept-Encoding': 'identity',  # a few compressed bytes can expand beyond all memory
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The response to a request."""

    url: str
    """The final URL, after redirects."""
    status: int
    kind: str
    """The media type, without parameters."""
    text: str
    body: bytes = b''
    """The raw body, for formats that declare their own encoding."""
    charset: str = ''
    """The encoding named by the response header, if any."""


def is_public(address: Address) -> bool:
    """Return whether an address is public and does not embed one that is not."""
    if any(address in ipaddress.ip_network(network) for network in LOCAL):
        return False
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if any(address in ipaddress.ip_network(network) for network in WRAPPED) or address.scope_id:
            return False
        if address.is_site_local:  # private addresses that predate `fc00::/7`
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


async def resolve(host: str, port: int) -> list[Address]:
    """Resolve a host to its addresses. Raises `OSError`."""
    results = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ipaddress.ip_address(place[0]) for *_, place in results]


async def fetch(
    url: str,
    *,
    may: Callable[[Address], bool] = is_public,
    look_up: Callable[[str, int], Awaitable[list[Address]]] = resolve,
    most_bytes: int = MAX_BODY_BYTES,
    seconds: float = TIMEOUT_SECONDS,
) -> Fetched:
    """Fetch a page, following redirects; every redirect is checked like the first URL.

    Args:
        url: an HTTP or HTTPS URL.
        may: whether connecting to an address is allowed.
        look_up: resolves a host and port to addresses.
        most_bytes: the maximum size of the response.
        seconds: the time limit for the whole operation.

    Raises:
        ToolError: fetching it is not allowed, or failed.
    """
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=seconds) as client,
        ):
            for _ in range(MAX_HOPS + 1):
                answer = await _once(client, _url(url), may, look_up, most_bytes)
                if isinstance(answer, Fetched):
                    return answer
                url = answer
    except TimeoutError:
        raise ToolError(f'{url[:200]} did not answer within {seconds:g} seconds') from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        raise ToolError(f'{url[:200]} could not be fetched: {describe_error(error)}') from None
    raise ToolError(f'{url[:200]} was redirected more than {MAX_HOPS} times')


async def get(url: str, *, private: bool) -> Fetched:
    """Fetch a page that exists; `private` also allows this machine and private networks.

    Raises:
        ToolError: fetching it is not allowed or failed, or the response is an error.
    """
    fetched = await fetch(url, may=(lambda address: True) if private else is_public)
    if fetched.status >= 400:
        raise ToolError(f'{fetched.url} answered with status {fetched.status}')
    return fetched


async def _once(
    client: httpx.AsyncClient,
    url: httpx.URL,
    may: Callable[[Address], bool],
    look_up: Callable[[str, int], Awaitable[list[Address]]],
    most_bytes: int,
) -> Fetched | str:
    """Send one request; return the response, or the URL it redirects to."""
    host, port = url.host, url.port or (443 if url.scheme == 'https' else 80)
    allowed = [address for address in await look_up(host, port) if may(address)]
    if not allowed:
        raise ToolError(f'{host} is on this machine or in a private network, where nothing may be fetched')
    # Connect by address: a second lookup may differ. The certificate is still checked against the name.
    request = client.build_request(
        'GET',
        url.copy_with(host=str(allowed[0])),
        headers={**HEADERS, 'Host': url.netloc.decode()},
        extensions={'sni_hostname': host},
    )
    response = await client.send(request, stream=True)
    try:
        if response.is_redirect:
            return str(url.join(response.headers['Location']))
        body = await _body(response, most_bytes)
    finally:
        await response.aclose()
    kind = response.headers.get('Content-Type', '').partition(';')[0].strip().lower()
    text = _decode_body(body, response.charset_encoding or 'utf-8')
    charset = response.charset_encoding or ''
    return Fetched(
        url=str(url), status=response.status_code, kind=kind, text=text, body=body, charset=charset
    )


async def _body(response: httpx.Response, most: int) -> bytes:
    coding = response.headers.get('Content-Encoding', 'identity').strip().lower()
    if coding not in ('', 'identity'):
        raise ToolError(f'the answer is compressed ({coding[:40]}), which was not requested')
    body = b''
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > most:
            raise ToolError(f'it has more than {most >> 20} MiB' if most >= 1 << 20 else f'over {most} bytes')
    return body


def _decode_body(body: bytes, encoding: str) -> str:
    if b'\0' in body[:8_000] and not encoding.lower().startswith(('utf-16', 'utf-32')):
        raise ToolError(f'the answer is not text ({len(body)} bytes)')
    try:
        return body.decode(encoding, 'replace')
    except LookupError:
        return body.decode('utf-8', 'replace')


def _url(text: str) -> httpx.URL:
    url = httpx.URL(text.strip())
    if url.scheme not in ('http', 'https') or not url.host:
        raise ToolError(f'{text[:200]}: only http:// and https:// addresses can be fetched')
    if url.userinfo:
        raise ToolError('an address with a user name or password in it is not fetched')
    return url
