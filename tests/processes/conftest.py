"""Fixtures for tests of real processes."""

import pytest

from engine.workspace import Sandbox


@pytest.fixture
async def sandbox() -> Sandbox:
    """A sandbox that works; without bubblewrap the test is skipped."""
    found = Sandbox()
    if problem := await found.problem():
        pytest.skip(problem)
    return found
