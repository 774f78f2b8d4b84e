"""Builds the server: API, chat agents and monitoring around the pages, and the conductor's lifecycle."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from nicegui import background_tasks
from starlette.routing import Mount, Route

from engine import LocalConductor
from engine.errors import JournalUnavailable
from engine.records import RunInfo
from engine.workspace import close_folders
from ui.api.access import PREFIX
from ui.api.mcp.over_http import McpOverHttp
from ui.app.access.access import Access
from ui.app.access.login import Login
from ui.app.access.oidc import Provider
from ui.app.access.sub_path import BelowSubPath
from ui.app.backend import Backend
from ui.app.fleet import FleetView
from ui.app.services.services import Services
from ui.app.settings import Locks
from ui.server.clients import free_closed_pages
from ui.server.grace import grace_period
from ui.server.lazy_app import LazyApp
from ui.server.monitoring import monitoring_routes
from ui.server.settings import AccessSettings, ServerSettings
from ui.server.signed_out import reload_signed_out, watch_sockets
from ui.server.tuning import collect_young_objects, tune
from ui.web.components.assets import ASSETS
from ui.web.components.theme import fill_topbar, serve_assets, set_warning
from ui.web.components.widgets import text_link
from ui.web.pages.accounts import page as accounts
from ui.web.pages.accounts.audit import page as audit
from ui.web.pages.accounts.own import page as account
from ui.web.pages.charts import page as charts
from ui.web.pages.charts.difference import page as difference
from ui.web.pages.charts.editor import page as editor
from ui.web.pages.compare import page as compare
from ui.web.pages.experiments import page as experiments
from ui.web.pages.experiments.datasets import page as datasets
from ui.web.pages.experiments.marking import page as marking
from ui.web.pages.experiments.new import page as new_experiment
from ui.web.pages.fork import page as fork
from ui.web.pages.fork.lineage import page as lineage
from ui.web.pages.fork.regression_test import page as regression_test
from ui.web.pages.fork.variants import page as variants
from ui.web.pages.home import page as home
from ui.web.pages.inbox import page as inbox
from ui.web.pages.inbox.notifications import page as notifications
from ui.web.pages.launch import page as launch
from ui.web.pages.launch.simulator import page as simulator
from ui.web.pages.run import page as run
from ui.web.pages.run.merging import page as review
from ui.web.pages.run.wall import page as wall
from ui.web.pages.runs import page as runs
from ui.web.pages.runs.report import page as report
from ui.web.pages.schedules import page as schedules
from ui.web.pages.settings import page as settings_page
from ui.web.pages.settings.style import page as style
from ui.web.pages.settings.workers import page as workers
from ui.web.pages.shared import errors
from ui.web.pages.shared.account_parts import draw_account_menu
from ui.web.pages.shared.attention import AttentionFeed
from ui.web.pages.shared.palette.palette import Palette
from ui.web.pages.tools import page as tools
from ui.web.pages.traffic import page as traffic

log = logging.getLogger('hemicycle')

PAGES = (
    home,
    runs,
    launch,
    simulator,
    charts,
    editor,
    difference,
    run,
    review,
    report,
    fork,
    regression_test,
    variants,
    lineage,
    compare,
    traffic,
    wall,
    datasets,
    new_experiment,  # before the page of an experiment, whose address would fit
    experiments,
    marking,
    tools,
    inbox,
    notifications,
    schedules,
    settings_page,
    workers,
    account,
    accounts,
    audit,
    errors,
)
"""The page modules, each with `register(backend)`; `style` comes with `serve --dev`."""

MCP = '/mcp'
"""The path for chat agents."""
UNSANDBOXED = 'Commands run without a sandbox'
DAY = 86_400.0
ADOPTION_CHECK_SECONDS = 2.0
"""Seconds between checks for killed processes."""
OpenConductor = Callable[[], Awaitable[LocalConductor]]


def build(
    open_conductor: OpenConductor,
    settings: ServerSettings | None = None,
    *,
    url: str = '',
    failed: Callable[[Exception], None] | None = None,
) -> FastAPI:
    """Build the application, without the pages, which are registered with NiceGUI to be mounted in it.

    Endpoints for programs stay outside NiceGUI: its middleware creates a session for each request without a
    cookie, and copies each chunk of a stream several times.

    Args:
        open_conductor: opens the journal and creates the conductor; called once, on the server's event loop.
            Every unfinished run without a live owner is then resumed.
        settings: how it serves.
        url: the server's URL for links in notifications.
        failed: called with the error if the conductor cannot be opened; without it, the error is raised.
    """
    settings = settings or ServerSettings()
    backend = Backend(settings.places)
    chat = McpOverHttp(backend, settings.origins)

    async def start() -> asyncio.Task[None]:
        conductor = await open_conductor()
        for fault in conductor.catalog.faults:
            log.error('%s:%s: %s', fault.path, fault.line, fault.problem)
        await warn_if_unsandboxed(conductor)
        # Model servers on this machine need no configuration; discover them in the background.
        background_tasks.create(conductor.catalog.registry.discover(), name='look for models here')
        background_tasks.create(clean_up_daily(conductor), name='clean up runs')
        if settings.locks:
            background_tasks.create(adopt_runs(conductor, settings.locks), name='adopt runs')
        background_tasks.create(settings.metrics.measure_lag(), name='measure lag')
        tune()
        background_tasks.create(collect_young_objects(), name='collect young objects')
        free_closed_pages()
        access = await access_if_required(
            settings.access, Access(conductor.journal.documents, conductor.clock)
        )
        close_folders(access is not None, private=settings.places.home if settings.places else None)
        workers = settings.fleet and start_placing_runs(settings.fleet(conductor))
        services = Services(
            conductor,
            url=url,
            now=time.time,
            audit=access.audit if access else None,
            placer=workers.schedules if workers else None,
        )
        services.start()
        backend.open(conductor, access, fleet=workers, services=services)
        background_tasks.create(reload_signed_out(backend), name='reload pages of those who are logged out')
        # Restoring their files may take long; the server answers meanwhile.
        return asyncio.create_task(continue_runs(conductor, settings.locks, failed), name='continue runs')

    @asynccontextmanager
    async def lifespan(served: FastAPI) -> AsyncIterator[None]:
        """Start before requests are served, and close afterwards."""
        continuing: asyncio.Task[None] | None = None

        try:
            continuing = await start()
        except Exception as error:
            if failed is None:
                raise
            failed(error)
        async with chat.running():
            yield
        await end_task(continuing)
        with grace_period(settings.grace) as over:
            await backend.close(over)
        close_folders(False)

    serve_assets()
    fill_topbar(partial(draw_topbar, backend, AttentionFeed(backend)))
    watch_sockets(backend)
    for page in (*PAGES, style) if settings.dev else PAGES:
        page.register(backend)
    app = FastAPI(
        openapi_url=None,
        lifespan=lifespan,
        routes=[
            *Login(lambda: backend.access, provider_of(settings.access), ASSETS).routes(),
            Mount(PREFIX, BelowSubPath(LazyApp(partial(load_api, backend, settings.origins)))),
            Route(MCP, chat),
            *monitoring_routes(backend, settings.metrics),
        ],
    )
    app.state.backend = backend
    return app


def load_api(backend: Backend, origins: Collection[str]) -> FastAPI:
    """Build the API, imported late: it is a quarter of a server's imports, and pages do not need it."""
    from ui.api.app import build_api

    return build_api(backend, origins)


def draw_topbar(backend: Backend, attentions: AttentionFeed) -> None:
    """Add the link to the fleet's workers, the number of open questions, and the account menu."""
    if backend.fleet:
        text_link(workers.WORKERS, 'Workers', 'btn quiet wide-only')
    Palette(backend)
    attentions().draw()
    draw_account_menu(backend)


async def access_if_required(access_settings: AccessSettings, access: Access) -> Access | None:
    """Return access control; None if no login is required."""
    return access if access_settings.required or await access.accounts.has_any() else None


def provider_of(access_settings: AccessSettings) -> Provider | None:
    """Return the identity provider, if one is configured."""
    return Provider(access_settings.provider) if access_settings.provider else None


async def warn_if_unsandboxed(conductor: LocalConductor) -> None:
    """Warn on every page if agents' commands run without a sandbox."""
    unsafe = conductor.sandbox.unsafe and await conductor.sandbox.problem()
    set_warning(UNSANDBOXED if unsafe else '')


def start_placing_runs(fleet: FleetView) -> FleetView:
    """Place runs that are not yet placed, while this server runs."""
    background_tasks.create(fleet.keep_placing_runs(), name='keep placing runs')
    return fleet


async def end_task(task: asyncio.Task[None] | None) -> None:
    """Cancel a task, and wait for its end."""
    if task:
        task.cancel()
        await asyncio.wait([task])


async def continue_runs(
    conductor: LocalConductor, locks: Locks | None, failed: Callable[[Exception], None] | None
) -> None:
    """Continue every unfinished run without a live owner; `failed` is called with an error.

    A journal that cannot be read is tried again: databases come back.
    """
    try:
        while True:
            try:
                async with adoption_lock(locks):
                    for recovered in await conductor.recover():
                        log.info('run %s continues', recovered)
                break
            except JournalUnavailable as error:
                log.warning('unfinished runs wait for the journal: %s', error)
                await conductor.clock.sleep(ADOPTION_CHECK_SECONDS)
    except Exception as error:
        log.exception('the unfinished runs do not continue')
        if failed:
            failed(error)
        return
    for stranded, reason in conductor.stranded.items():
        log.error('run %s cannot continue: %s', stranded, reason)


async def clean_up_daily(conductor: LocalConductor) -> None:
    """Clean up once a day, forever; results and errors go to the log."""
    while True:
        try:
            done = await conductor.clean_up()
        except Exception:
            log.exception('the retention policy could not be applied')
        else:
            for item in done.taken:
                log.info('run %s is deleted by the retention policy: %s', item.info.id, item.reason)
            for run in done.purged:
                log.info('run %s is permanently removed', run)
        await conductor.clock.sleep(DAY)


async def adopt_runs(conductor: LocalConductor, locks: Locks) -> None:
    """Adopt the runs of processes that are killed while this server is running, forever.

    Runs of a process that was stopped are left alone: the person who stopped it resumes them when ready.
    """
    while True:
        await conductor.clock.sleep(ADOPTION_CHECK_SECONDS)
        try:
            if dead := await asyncio.to_thread(locks.dead_owners):
                async with adoption_lock(locks):
                    await _adopt(conductor, frozenset(dead))
                for owner in dead:
                    await asyncio.to_thread(locks.forget, owner)
        except Exception:
            log.exception('the runs of a process that was killed could not be adopted')


@asynccontextmanager
async def adoption_lock(locks: Locks | None) -> AsyncIterator[None]:
    """Keep other servers from adopting runs in the body, so that none is adopted twice."""
    if locks is None:
        yield
        return
    await asyncio.to_thread(locks.begin_adoption)
    try:
        yield
    finally:
        await asyncio.to_thread(locks.end_adoption)


async def _adopt(conductor: LocalConductor, dead: frozenset[str]) -> None:
    def is_adoptable(info: RunInfo) -> bool:
        return info.owner in dead and info.id not in conductor.stranded

    for adopted in await conductor.recover(where=is_adoptable):
        log.info('run %s continues here: its process was killed', adopted)
