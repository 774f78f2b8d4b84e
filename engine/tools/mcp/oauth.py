"""OAuth for MCP servers: stores and renews tokens, and signs in with a browser."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import NoReturn
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthTokenError
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from engine.errors import ToolError
from engine.models.secret_filter import secret_filter
from engine.tools.mcp.config import McpServer
from engine.tools.mcp.token_file import TokenFile
from engine.tools.web import is_public, resolve

REDIRECT_PATH = '/callback'
REDIRECT_PAGE = b'<!doctype html><title>Hemicycle</title><p>%s You can close this page.'
SIGN_IN = 'you have to sign in to it: on the settings page, or with `hemicycle mcp-server sign-in %s`'

NO_TOKEN = 'its authorization server did not answer with a token'
MAX_DOCUMENT = 500_000
"""Maximum bytes of an authorization server's response."""
EXCHANGE_SECONDS = 30.0
"""Timeout in seconds for requests to an authorization server."""
MAX_REASON = 500
"""Maximum characters of the reason for a failure."""


class StoredSignIn(OAuthClientProvider):
    """The package's OAuth flow, with everything needed for a renewal stored in a file.

    Args:
        server: its configuration, with `oauth`.
        file: the stored tokens and registration.
        port: the local port to which the browser is redirected.
        show: called with the URL at which to sign in.
        wait_for_code: returns the result that the browser delivers.
    """

    def __init__(
        self,
        server: McpServer,
        file: TokenFile,
        port: int,
        show: Callable[[str], Awaitable[None]],
        wait_for_code: Callable[[], Awaitable[AuthorizationCodeResult]],
    ) -> None:
        settings = server.oauth
        assert settings is not None
        metadata = OAuthClientMetadata(
            client_name='Hemicycle',
            redirect_uris=[AnyUrl(f'http://127.0.0.1:{port}{REDIRECT_PATH}')],
            scope=settings.scope or None,
        )
        self._file, self._wanted, self._uris = file, settings, metadata.redirect_uris
        self._secrets = [settings.client_secret]
        self.asking = ''
        """The host of the authorization server during a request to it."""

        async def check_and_show(url: str) -> None:
            server_metadata = self.context.oauth_metadata
            methods = server_metadata.code_challenge_methods_supported if server_metadata else None
            if methods is not None and 'S256' not in methods:
                raise ToolError('its authorization server does not support PKCE, so a code could be stolen')
            await _check_address(server.url, url)
            await show(url)

        super().__init__(server.url, metadata, self, check_and_show, wait_for_code)

    def hide(self, text: str) -> str:
        """Remove this sign-in's secrets from text."""
        return secret_filter(tuple(filter(None, self._secrets)), ()).redact_text(
            self._file.secret_filter.redact_text(text)
        )

    async def _exchange_token_authorization_code(self, auth_code: str, code_verifier: str) -> httpx2.Request:
        self._secrets += [auth_code, code_verifier]
        return await super()._exchange_token_authorization_code(auth_code, code_verifier)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        try:
            await super()._handle_token_response(response)
        except UnicodeDecodeError:
            raise ToolError(NO_TOKEN) from None
        except OAuthTokenError as error:
            if isinstance(error.__context__, ValidationError):  # It quotes the response, including a token.
                raise ToolError(NO_TOKEN) from None
            raise

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run the package's flow with limits on addresses, sizes and times, since the server directs it."""
        flow = super()._auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is not request:
                    await _check_address(self.context.server_url, str(outgoing.url))
                    outgoing.headers['accept-encoding'] = 'identity'
                    outgoing.extensions['timeout'] = httpx2.Timeout(EXCHANGE_SECONDS).as_dict()
                    self.asking = outgoing.url.host
                response = yield outgoing
                self.asking = ''
                coding = response.headers.get('content-encoding', 'identity')
                if outgoing is not request and coding != 'identity':
                    raise ToolError(f'{outgoing.url.host} answers compressed, which was not requested')
                if outgoing is not request or response.status_code in (401, 403):
                    # Nobody reads the body: keep it compressed.
                    response.headers.pop('content-encoding', None)
                    assert isinstance(response.stream, httpx2.AsyncByteStream)
                    response.stream = _Bounded(response.stream)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens in the file; None before the first sign-in."""
        tokens = self._file.read().get('tokens')
        return OAuthToken.model_validate(tokens) if tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens, and the metadata for renewing them."""
        context = self.context
        metadata, resource = context.oauth_metadata, context.protected_resource_metadata
        self._file.write(
            tokens=tokens.model_dump(mode='json', exclude_none=True),
            expires=time.time() + tokens.expires_in if tokens.expires_in else None,
            issuer=context.auth_server_url,
            metadata=metadata.model_dump(mode='json', exclude_none=True) if metadata else None,
            resource=resource.model_dump(mode='json', exclude_none=True) if resource else None,
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the configured client, or the registered one."""
        if self._wanted.client_id:
            secret = self._wanted.client_secret
            return OAuthClientInformationFull(
                client_id=self._wanted.client_id,
                client_secret=secret or None,
                redirect_uris=self._uris,
                token_endpoint_auth_method='client_secret_post' if secret else 'none',
            )
        client = self._file.read().get('client')
        return OAuthClientInformationFull.model_validate(client) if client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store the client as registered at the authorization server."""
        self._file.write(client=client_info.model_dump(mode='json', exclude_none=True))

    async def _initialize(self) -> None:
        """Also load the data needed for a renewal: the package loads only tokens and client."""
        await super()._initialize()
        stored, context = self._file.read(), self.context
        context.token_expiry_time = stored.get('expires')
        context.auth_server_url = stored.get('issuer')
        if document := stored.get('metadata'):
            context.oauth_metadata = OAuthMetadata.model_validate(document)
        if document := stored.get('resource'):
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(document)


class _Bounded(httpx2.AsyncByteStream):
    """A response body with a size limit."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body, self._read = body, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            self._read += len(piece)
            if self._read > MAX_DOCUMENT:
                raise ToolError(f'its authorization server sent more than {MAX_DOCUMENT:,} bytes')
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


async def address_problem(server: str, url: str) -> str:
    """Return why a server at one URL must not direct its client to another, or ''."""
    here, there = urlsplit(server), urlsplit(url)
    if here.scheme == 'https' and there.scheme != 'https':
        return f'it leads to {there.hostname}, which is not encrypted'
    if here.hostname == there.hostname or not here.hostname or not there.hostname:
        return ''
    try:
        own, others = await resolve(here.hostname, 443), await resolve(there.hostname, 443)
    except (OSError, UnicodeError):
        return ''  # Then connecting fails, too.
    if all(map(is_public, own)) and not all(map(is_public, others)):
        return f'it leads to {there.hostname}, which is on this machine or in a private network'
    return ''


async def _check_address(server: str, url: str) -> None:
    if problem := await address_problem(server, url):
        raise ToolError(problem)


def stored_sign_in(server: McpServer, file: TokenFile) -> StoredSignIn:
    """Authenticate with the stored tokens; fails with a request to sign in if they are not sufficient."""

    async def refuse(*_: str) -> NoReturn:
        raise ToolError(SIGN_IN % server.name)

    return StoredSignIn(server, file, int(file.read().get('port') or 1), refuse, refuse)


@contextlib.asynccontextmanager
async def browser_sign_in(
    server: McpServer, file: TokenFile, show: Callable[[str], Awaitable[None]]
) -> AsyncIterator[StoredSignIn]:
    """Authenticate through a new sign-in; `show` is called with the URL to open in a browser.

    Raises:
        ToolError: the port for the browser's redirect is in use.
    """
    result: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
    state = ''

    async def note_and_show(url: str) -> None:
        nonlocal state
        state = parse_qs(urlsplit(url).query).get('state', [''])[0]
        await show(url)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broken = (
            ConnectionError,
            ValueError,
            IndexError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        )
        with contextlib.suppress(*broken):
            line = (await reader.readuntil(b'\r\n\r\n')).split(b'\r\n')[0].decode('latin-1')
            url = urlsplit(line.split(' ')[1])
            parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
            # Any page in the browser can send this request; only the one who saw the URL knows the state.
            is_ours = bool(state) and secrets.compare_digest(
                parameters.get('state', '').encode(), state.encode()
            )
            taken = url.path == REDIRECT_PATH and is_ours and not result.done()
            body = b'You are signed in.' if taken and 'code' in parameters else b'Signing in has failed.'
            status = (
                '200 OK' if taken else '400 Bad Request' if url.path == REDIRECT_PATH else '404 Not Found'
            )
            page = REDIRECT_PAGE % body if url.path == REDIRECT_PATH else b''
            head = f'HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {len(page)}\r\n\r\n'
            writer.write(head.encode() + page)
            await writer.drain()
            if taken and not result.done():
                _resolve_sign_in(result, parameters)
        writer.close()

    settings = server.oauth
    assert settings is not None
    port = settings.port or int(file.read().get('port') or 0)
    try:
        listener = await asyncio.start_server(answer, '127.0.0.1', port)
    except OSError:
        if settings.port:
            raise ToolError(f'port {port} of this machine is in use; set another in `oauth`') from None
        # The client was registered with the old port.
        listener = await asyncio.start_server(answer, '127.0.0.1', 0)
    here = int(listener.sockets[0].getsockname()[1])
    file.write(tokens=None, expires=None, port=here, **({} if here == port else {'client': None}))
    async with listener:
        yield StoredSignIn(server, file, here, note_and_show, lambda: asyncio.shield(result))


def _resolve_sign_in(result: asyncio.Future[AuthorizationCodeResult], parameters: dict[str, str]) -> None:
    """Resolve the future with the browser's result: a code, or the reason why there is none."""
    if 'code' in parameters:
        result.set_result(
            AuthorizationCodeResult(
                code=parameters['code'], state=parameters.get('state'), iss=parameters.get('iss')
            )
        )
        return
    why = parameters.get('error_description') or parameters.get('error') or 'the browser returned no code'
    result.set_exception(ToolError(f'signing in failed: {why[:MAX_REASON]}'))
