"""What every tier shares: asynchronous tests run on asyncio alone, and scripted models do not dawdle."""

import gc
import os

import pytest

os.environ.setdefault('HEMICYCLE_PACE', '0')


@pytest.fixture(scope='session')
def anyio_backend() -> str:
    return 'asyncio'


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: all that was imported and collected."""
    gc.collect()
    gc.freeze()
