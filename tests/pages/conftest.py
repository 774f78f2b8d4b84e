"""The pages over a conductor in memory."""

import pytest
from nicegui import ui
from nicegui.testing import User

from engine import Conductor
from ui import theme
from ui.door import Door
from ui.pages import home, launch, missing, runs, tools


@pytest.fixture
async def conductor():
    async with Conductor() as conductor:
        yield conductor


@pytest.fixture
def pages(user: User, conductor: Conductor) -> User:
    """A user of the pages that list and launch."""
    door = Door()
    door.open(conductor)
    theme.serve_assets()
    for page in (home, launch, runs, tools, missing):
        page.register(door)
    ui.page('/runs/{run}')(lambda run: ui.label(f'the run {run}'))
    return user
