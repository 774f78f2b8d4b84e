"""The API over a conductor in memory, called in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp

from engine import Conductor, LocalConductor, Pattern
from engine.agents.chart import agent
from engine.operations import Role
from tests.support.api import serve_api, serve_app
from tests.support.harness import FakeModel, Lone, calls, catalog, in_turn, pipeline_reply
from ui.api.mcp.over_http import McpOverHttp
from ui.app.access.access import Access
from ui.app.backend import Backend

BASE = 'http://127.0.0.1:8080'
PASSWORD = 'correct horse battery'


class Asks(Pattern):
    """Asks before it calculates."""

    initial = 'working'
    states = [agent('working', prompt='ask', tools=['calculator']), {'name': 'over', 'final': True}]
    transitions = [[name, 'working', 'over'] for name in ('done', 'failed', 'expired')]

    def ask(self, memory: Any) -> str:
        return 'Work.'


def asking() -> Conductor:
    """A run of `asks` calls one tool, which waits for a person if tools need approval."""
    model = FakeModel(in_turn(calls(('calculator', {'expression': '1+1'})), 'done'))
    return LocalConductor(catalog=catalog(model, Asks))


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(pipeline_reply)


@pytest.fixture
async def conductor(model: FakeModel) -> AsyncIterator[Conductor]:
    async with LocalConductor(catalog=catalog(model, Lone)) as conductor:
        yield conductor


@pytest.fixture
def backend(conductor: Conductor) -> Backend:
    backend = Backend()
    backend.open(conductor)
    return backend


@pytest.fixture
def app(backend: Backend) -> FastAPI:
    return serve_api(backend)


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as client:
        yield client


@pytest.fixture
async def access(conductor: Conductor, backend: Backend) -> Access:
    """Accounts named after their roles."""
    access = Access(conductor.journal.documents, conductor.clock)
    for role in Role:
        await access.accounts.add(str(role), role, PASSWORD)
    backend.open(conductor, access)
    return access


@asynccontextmanager
async def serve_mcp(app: McpOverHttp, served: ASGIApp) -> AsyncIterator[str]:
    """Serve an application around the MCP server on a port of this machine; yields the server's URL."""
    async with app.running(), serve_app(served) as address:
        yield f'{address}/mcp'
