"""Fixtures for tests of real processes."""

from pathlib import Path

import pytest

from engine.workspace import Sandbox
from tests.support.cli import Hemicycle


@pytest.fixture
async def sandbox() -> Sandbox:
    """A sandbox that works; without bubblewrap the test is skipped."""
    sandbox = Sandbox()
    if problem := await sandbox.problem():
        pytest.skip(problem)
    return sandbox


@pytest.fixture
def hemicycle(tmp_path: Path) -> Hemicycle:
    """The command line over a database of its own."""
    return Hemicycle(tmp_path)
