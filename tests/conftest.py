"""What every tier shares: asyncio alone, scripted models that do not dawdle, and each kind of journal."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from engine.journal import Journal

os.environ.setdefault('HEMICYCLE_PACE', '0')


@pytest.fixture(scope='session')
def anyio_backend() -> str:
    return 'asyncio'


@pytest.fixture(params=['memory', 'sql'])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    from engine.passing import MemoryJournal
    from storage import open_journal

    made: Journal = MemoryJournal() if request.param == 'memory' else await open_journal(tmp_path / 'runs.db')
    yield made
    await made.close()


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: all that was imported and collected."""
    gc.collect()
    gc.freeze()
