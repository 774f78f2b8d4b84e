"""Fixtures for tests of real processes."""

import pytest

from engine.workspace import Sandbox


@pytest.fixture
async def sandbox() -> Sandbox:
    """A sandbox that works; without bubblewrap the test is skipped."""
    sandbox = Sandbox()
    if problem := await sandbox.problem():
        pytest.skip(problem)
    return sandbox
