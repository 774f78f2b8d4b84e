"""A count bounds a loop only if nothing can reset it: code that cannot be read is never trusted."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from engine.operations.rehearsal import rehearse

COUNTED = """
from functools import partial
from typing import Any

from pydantic import BaseModel

from engine import Event, Pattern, agent
from engine.statechart.edges import edge


class Helper:
    def ask(it, memory, event):
        memory.count = 0
        return it


class Counted(Pattern):
    "It works in rounds."

    class Parameters(BaseModel):
        limit: int = 2

    class Memory(Pattern.Memory):
        count: int = 0

    initial = 'working'
    states = (STATE, {'name': 'over', 'final': True})
    transitions = (
        edge('done', 'working', 'working', 'may_go_on', before='add'),
        edge('done', 'working', 'over'),
        {'trigger': 'reset', 'source': 'working', 'dest': None, 'before': RESET},
    )
    inputs = {}

    def may_go_on(self, memory: Any, event: Event) -> bool:
        "A round is left."
        return GUARD

    def add(self, memory: Any, event: Event) -> None:
        "Count it."
        memory.count += 1

    def prompt_working(self, memory: Any, event: Event) -> str:
        "Return the task."
        return 'Do it.'

    def nothing(self, memory: Any, event: Event) -> None:
        "Do nothing."

    def ask(self, memory: Any, event: Event) -> str:
        "Return the task."
        memory.count = 0
        return 'Do it.'

    async def work(self, memory: Any, activity: Any) -> None:
        "Do it."
"""
WORK = "{'name': 'working', 'invoke': 'work', 'most_calls': 1}"
LESS = 'memory.count < self.parameters.limit'


@pytest.mark.parametrize(
    ('guard', 'state', 'reset', 'most'),
    [
        (LESS, WORK, "'nothing'", 3),
        ('memory.count + 1 <= self.parameters.limit', WORK, "'nothing'", 3),
        ('memory.count != self.parameters.limit', WORK, "'nothing'", None),
        (f'{LESS} or memory.count > 5_000', WORK, "'nothing'", None),
        (LESS, WORK, "lambda memory, event: memory.__setattr__('count', 0)", None),
        (LESS, WORK, "partial(setattr, 'count')", None),
        (LESS, "agent('working')", "'nothing'", 3 * 13 * 4),
        (LESS, "agent('working', prompt='ask')", "'nothing'", None),
        (LESS, "agent('working', prompt=partial(Helper.ask, 'it'))", "'nothing'", None),
    ],
)
def test_a_count_bounds_a_loop_if_nothing_resets_it(guard, state, reset, most, tmp_path, monkeypatch) -> None:
    source = COUNTED.replace('STATE', state).replace('RESET', reset).replace('GUARD', guard)
    (tmp_path / 'counted.py').write_text(source)
    spec = importlib.util.spec_from_file_location('counted', tmp_path / 'counted.py')
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, 'counted', module)
    spec.loader.exec_module(module)
    assert rehearse(module.Counted(), seconds=0).cost.most.calls == most
