"""The conductor in this process and the one over HTTP, for suites that both pass."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from fastapi import FastAPI

from engine import Conductor, LocalConductor
from engine.charts.library import ChartLibrary
from engine.journal import MemoryJournal
from tests.support.api import serve_api, serve_app
from tests.support.harness import FakeModel, Lone, catalog, pipeline_reply
from ui.api.access import PREFIX
from ui.api.client import HttpConductor
from ui.app.backend import Backend


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(pipeline_reply)


@pytest.fixture
async def local_conductor(model: FakeModel, tmp_path: Path) -> AsyncIterator[Conductor]:
    """The conductor that executes the runs."""
    own_catalog = catalog(model, Lone)
    ChartLibrary(own_catalog, tmp_path / 'charts')
    async with LocalConductor(
        MemoryJournal(), catalog=own_catalog, workspaces=tmp_path / 'files'
    ) as conductor:
        yield conductor


@asynccontextmanager
async def serve(conductor: Conductor) -> AsyncIterator[str]:
    backend, app = Backend(), FastAPI()
    backend.open(conductor)
    app.mount(PREFIX, serve_api(backend))
    async with serve_app(app) as url:
        yield url


@pytest.fixture
async def url(local_conductor: Conductor) -> AsyncIterator[str]:
    """The address of a server of that conductor."""
    async with serve(local_conductor) as url:
        yield url


@pytest.fixture(params=['in process', 'over HTTP'])
async def conductor(local_conductor: Conductor, request: pytest.FixtureRequest) -> AsyncIterator[Conductor]:
    """The conductor that the test uses."""
    if request.param == 'in process':
        yield local_conductor
        return
    async with serve(local_conductor) as url, HttpConductor(url, catalog=local_conductor.catalog) as remote:
        yield cast(Conductor, remote)
