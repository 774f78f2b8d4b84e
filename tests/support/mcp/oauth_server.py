"""An MCP server that requires a sign-in, and its authorization server, both on loopback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from tests.bench.servers.processes import free_port

TOKEN, RENEWED, REFRESH = 'access-token-of-a-test', 'renewed-token-of-a-test', 'refresh-token-of-a-test'


@dataclass
class Guarded:
    """The requests, and the currently valid token."""

    url: str
    lifetime: int = 3600
    metadata: dict[str, Any] = field(default_factory=dict)
    """Overrides of the authorization server's metadata."""
    resource: dict[str, Any] = field(default_factory=dict)
    """Overrides of the MCP server's metadata, which name its authorization server."""
    padding: int = 0
    """Number of spaces added to the metadata."""
    echoes: bool = False
    """Whether the token endpoint refuses requests and echoes them."""
    token: dict[str, Any] = field(default_factory=dict)
    """The response that replaces a token."""
    bytes: tuple[int, bytes] | None = None
    """The token endpoint's answer instead of JSON: a status and a body."""
    coding: str = ''
    """The content encoding, perhaps twice the same, that refusals claim; they are not compressed."""
    answers_coded: str = ''
    """The content encoding that answers to signed-in clients claim."""
    redirects: bool = False
    """Whether the MCP server's metadata is redirected, with a body that never ends."""
    hangs: bool = False
    """Whether the token endpoint never answers."""
    refuses: bool = False
    """Whether the person declines."""
    valid: set[str] = field(default_factory=lambda: {TOKEN, RENEWED})
    registered: list[Any] = field(default_factory=list)
    grants: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: Request) -> Response | None:  # noqa: C901, PLR0911  (a list of pages)
        """The answer of the authorization server; None for requests to the MCP server."""
        match request.url.path:
            case '/.well-known/oauth-protected-resource/mcp' if self.redirects:
                return StreamingResponse(endless(), 307, {'location': '/elsewhere'})
            case '/.well-known/oauth-protected-resource/mcp' | '/elsewhere':
                metadata = {'resource': f'{self.url}/mcp', 'authorization_servers': [self.url]}
                return JSONResponse(metadata | self.resource)
            case '/.well-known/oauth-authorization-server':
                ends = {f'{name}_endpoint': f'{self.url}/{path}' for name, path in ENDS.items()}
                more = {'response_types_supported': ['code'], 'code_challenge_methods_supported': ['S256']}
                more['padding'] = [' ' * self.padding]
                return JSONResponse({'issuer': self.url, **ends, **more, **self.metadata})
            case '/register':
                self.registered.append(await request.json())
                return JSONResponse({**self.registered[-1], 'client_id': 'client-1'}, 201)
            case '/authorize':
                query = dict(request.query_params)
                outcome = {'error': 'access_denied'} if self.refuses else {'code': 'a-code'}
                redirect_query = {**outcome, 'state': query['state']}
                return RedirectResponse(f'{query["redirect_uri"]}?{urlencode(redirect_query)}', 302)
            case '/token':
                grant = {
                    name: values[0] for name, values in parse_qs((await request.body()).decode()).items()
                }
                self.grants.append(grant)
                if self.hangs:
                    await asyncio.Event().wait()
                if self.bytes:
                    return Response(self.bytes[1], self.bytes[0])
                if self.echoes:
                    return JSONResponse({'error': 'invalid_grant', 'error_description': str(grant)}, 400)
                token = RENEWED if grant['grant_type'] == 'refresh_token' else TOKEN
                token_response = {
                    'token_type': 'Bearer',
                    'expires_in': self.lifetime,
                    'refresh_token': REFRESH,
                }
                return JSONResponse(self.token or {'access_token': token, **token_response})
        if request.headers.get('authorization', '').removeprefix('Bearer ') not in self.valid:
            where = f'{self.url}/.well-known/oauth-protected-resource/mcp'
            coded = {'Content-Encoding': self.coding} if self.coding else {}
            named = {'WWW-Authenticate': f'Bearer resource_metadata="{where}"'}
            return Response('no', status_code=401, headers={**named, **coded})
        if self.answers_coded:
            return Response('no', headers={'Content-Encoding': self.answers_coded})
        return None


async def endless() -> AsyncIterator[bytes]:
    yield b'moved'
    await asyncio.Event().wait()


ENDS = {'authorization': 'authorize', 'token': 'token', 'registration': 'register'}


@contextlib.asynccontextmanager
async def serve_guarded() -> AsyncIterator[Guarded]:
    """Serve until the block is left."""
    port = free_port()
    guarded = Guarded(f'http://127.0.0.1:{port}')
    server = MCPServer('guarded', log_level='CRITICAL')

    @server.tool()
    def whoami() -> str:
        """Return the token."""
        return f'you came with {TOKEN}'

    inner = server.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope['type'] == 'http' and (response := await guarded.answer(Request(scope, receive))):
            await response(scope, receive, send)
        else:
            await inner(scope, receive, send)

    web = uvicorn.Server(uvicorn.Config(app, port=port, log_level='critical'))
    task = asyncio.create_task(web.serve())
    while not web.started:  # noqa: ASYNC110  (it has no event for that)
        await asyncio.sleep(0.01)
    try:
        yield guarded
    finally:
        web.should_exit = True
        web.force_exit = True
        await task
