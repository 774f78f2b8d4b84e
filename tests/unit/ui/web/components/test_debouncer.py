"""Debounced work that a page asks for while it is still being drawn."""

import asyncio
import gc
import time

from nicegui import ui
from nicegui.testing import User

from engine.host.clock import settle
from ui.web.components.debounce import Debouncer
from ui.web.routing import serve_page


async def test_debounced_work_does_not_split_the_first_page(user: User) -> None:
    async def work() -> None:
        ui.label('worked')

    async def page() -> None:
        await Debouncer(work, ui.element()).request()
        for _ in range(20):  # The rest of the page takes a while, and the browser has not connected yet.
            await asyncio.sleep(0)
        ui.label('and the rest')

    serve_page('/drawn')(page)
    answer = await user.http_client.get('/drawn')
    assert 'worked' in answer.text
    assert 'and the rest' in answer.text


async def test_work_of_a_closed_page_is_cancelled(user: User) -> None:
    begun, released, cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()
    debouncers: list[Debouncer] = []

    async def work() -> None:
        begun.set()
        try:
            await released.wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        ui.label('too late')

    async def page() -> None:
        debouncers.append(Debouncer(work, ui.element()))

    serve_page('/closed')(page)
    client = await user.open('/closed')
    with client:
        debouncer = debouncers.pop()
        debouncer._next = time.monotonic() + 0.01  # as if work had just been done, so that this waits
        await debouncer.request()
        await begun.wait()
    user.client = None
    client.delete()
    del client
    gc.collect()
    released.set()
    await settle()
    assert cancelled.is_set()
