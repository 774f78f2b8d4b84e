"""Python source is parsed by one thread at a time."""

from __future__ import annotations

import gc
import inspect
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.host.python_source import parse_module
from tests.tree import ROOT

SOURCE = inspect.getsource(inspect)
DIRECT = re.compile(r'ast\.parse\(|literal_eval\((?!parse_expression)')


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
        return len(parse_module(SOURCE).body)

    with ThreadPoolExecutor(2) as threads:
        assert len(set(threads.map(parse, range(10)))) == 1


def test_nothing_else_parses_python() -> None:
    sources = [path for part in ('engine', 'ui', 'storage') for path in (ROOT / part).rglob('*.py')]
    direct = {path.name for path in sources if DIRECT.search(path.read_text('utf-8'))}
    assert direct == {'python_source.py'}
