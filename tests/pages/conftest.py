"""The pages over a conductor in memory."""

import pytest
from nicegui import ui
from nicegui.testing import User

from engine import Conductor
from ui import theme
from ui.door import Door
from ui.pages import home, launch, missing, runs, settings, tools, traffic, trash


@pytest.fixture
async def conductor():
    async with Conductor() as conductor:
        yield conductor


@pytest.fixture
def door(conductor: Conductor) -> Door:
    door = Door()
    door.open(conductor)
    return door


@pytest.fixture
def pages(user: User, door: Door) -> User:
    """A user of all pages but the run page."""
    theme.serve_assets()
    for page in (home, launch, runs, tools, settings, traffic, trash, missing):
        page.register(door)
    ui.page('/runs/{run}')(lambda run: ui.label(f'Here is run {run}'))
    return user
