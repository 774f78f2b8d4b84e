"""Threads that make syntax trees of Python at the same time do not disturb each other."""

from __future__ import annotations

import ast
import gc
import inspect
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import engine

assert engine, 'the import sees to it'
SOURCE = inspect.getsource(inspect)


class Finalized:
    """Garbage whose end runs Python, so that another thread gets its turn in the middle of a parse."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(200):
            pass


@pytest.fixture
def eager() -> Iterator[None]:
    """Garbage is collected, and threads take turns, as often as can be."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures('eager')
def test_threads_parse_at_the_same_time() -> None:
    def parse(_: int) -> int:
        for _ in range(30):
            Finalized()
        return len(ast.parse(SOURCE).body)

    with ThreadPoolExecutor(2) as threads:
        assert len(set(threads.map(parse, range(10)))) == 1
