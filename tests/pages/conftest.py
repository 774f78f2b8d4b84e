"""The pages over a conductor in memory."""

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar
from typing import NoReturn

import pytest
from nicegui import ui
from nicegui.testing import User

from engine import Conductor, LocalConductor
from engine.operations import Role
from tests.support.identity import FixedIdentity
from ui.app.access.access import Access
from ui.app.access.caller import Caller
from ui.app.backend import Backend
from ui.server.app import PAGES
from ui.web.components import theme
from ui.web.pages.run import page as run

ASKING = (
    'ui.app.backend',
    'ui.web.permission',
    'ui.web.pages.accounts.page',
    'ui.web.pages.accounts.own.page',
    'ui.web.pages.accounts.audit.page',
    'ui.web.pages.settings.workers.page',
)
"""The modules that ask for the identity of the caller."""


@pytest.fixture
async def conductor():
    async with LocalConductor() as conductor:
        yield conductor


@pytest.fixture
def role() -> Role:
    """The role of the caller; tests of other roles override it."""
    return Role.ADMIN


@pytest.fixture
def backend(conductor: Conductor, role: Role) -> Iterator[Backend]:
    """The backend of pages behind the guard, for a caller who is an administrator by default."""
    fixed_identity = FixedIdentity(Caller('ada', role))
    ada = ContextVar('identity', default=fixed_identity)
    backend = Backend()
    backend.open(conductor, Access(conductor.journal.documents, conductor.clock))
    with pytest.MonkeyPatch.context() as patched:
        for place in ASKING:
            patched.setattr(f'{place}.IDENTITY', ada)
        yield backend


@pytest.fixture
def with_run_page() -> bool:
    """Whether `pages` has the real page of a run; modules that need it override this."""
    return False


@pytest.fixture
def pages(user: User, backend: Backend, with_run_page: bool) -> User:
    """A simulated user of all pages; instead of the page of a run there is a label."""
    theme.serve_assets()
    for page in PAGES:
        if with_run_page or page is not run:
            page.register(backend)
    if not with_run_page:
        ui.page('/runs/{run}')(lambda run: ui.label(f'Here is run {run}'))
    return user


class Endless:
    """Work of a page that ends only when it is cancelled."""

    def __init__(self) -> None:
        self.began, self.ended = asyncio.Event(), asyncio.Event()

    async def __call__(self, *fields: object, **more: object) -> NoReturn:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        raise AssertionError('nobody sets it')

    async def ends_with(self, pages: User) -> None:
        """Close the page once the work has begun, and wait until the work has ended."""
        async with asyncio.timeout(10):
            await self.began.wait()
            assert pages.client is not None and not self.ended.is_set()
            pages.client.delete()
            await self.ended.wait()


@pytest.fixture
def endless() -> Endless:
    return Endless()
