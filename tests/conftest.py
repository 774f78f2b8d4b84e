"""What every tier shares: asynchronous tests run on asyncio alone, and scripted models do not dawdle."""

import os

import pytest

os.environ.setdefault('HEMICYCLE_PACE', '0')


@pytest.fixture(scope='session')
def anyio_backend() -> str:
    return 'asyncio'
