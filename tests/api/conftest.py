"""The API over a conductor in memory, called in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from engine import Conductor
from tests.support.api import serve_api
from tests.support.harness import FakeModel, Lone, catalog, pipeline_reply
from ui.web.backend import Backend

BASE = 'http://127.0.0.1:8080'


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(pipeline_reply)


@pytest.fixture
async def conductor(model: FakeModel) -> AsyncIterator[Conductor]:
    async with Conductor(catalog=catalog(model, Lone)) as conductor:
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
