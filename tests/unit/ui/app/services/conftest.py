"""A conductor whose agents ask before they use a tool, with a clock that does not wait."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from engine import Conductor
from tests.unit.ui.app.services.test_notifications import conductor_of


@pytest.fixture
async def conductor() -> AsyncIterator[Conductor]:
    async with conductor_of() as conductor:
        yield conductor
