"""Debounced work that a page asks for while it is still being drawn."""

import asyncio

from nicegui import ui
from nicegui.testing import User

from ui.components.debounce import Debouncer
from ui.web.routing import serve_page


async def test_debounced_work_does_not_split_the_first_page(user: User) -> None:
    async def work() -> None:
        ui.label('worked')

    async def page() -> None:
        await Debouncer(work, ui.element()).ask()
        for _ in range(20):  # The rest of the page takes a while, and the browser has not connected yet.
            await asyncio.sleep(0)
        ui.label('and the rest')

    serve_page('/drawn')(page)
    answer = await user.http_client.get('/drawn')
    assert 'worked' in answer.text
    assert 'and the rest' in answer.text
