"""Tuning for a server changes speed only."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from nicegui import helpers

from tests.support.harness import until
from ui.server.tuning import collect_young_objects, memoize_signature


class Handlers:
    def nothing(self) -> None: ...

    def one(self, event: object) -> None: ...

    def any(self, *events: object, quick: bool = True) -> None: ...


@pytest.mark.parametrize(
    'func',
    [
        Handlers().nothing,
        Handlers().one,
        Handlers().any,
        Handlers.nothing,
        print,
        partial(Handlers().one, 1),
        lambda x: x,
    ],
    ids=['none', 'one', 'any', 'function', 'built in', 'partial', 'lambda'],
)
def test_tuning_changes_no_answers(func: Callable[..., Any]) -> None:
    answer = memoize_signature(helpers.expects_arguments)
    assert [answer(func), answer(func)] == [helpers.expects_arguments(func)] * 2


def test_methods_of_other_objects_are_cached() -> None:
    functions: list[Callable[..., Any]] = []
    answer = memoize_signature(lambda func: bool(functions.append(func)))
    for _ in range(3):
        assert answer(Handlers().one) is False
    assert len(functions) == 1


async def test_young_objects_are_collected_even_with_automatic_collection_off() -> None:
    gc.disable()
    collecting = asyncio.create_task(collect_young_objects())
    try:
        for _ in range(2):  # also after a collection
            cycle = Handlers()
            cycle.itself = cycle  # type: ignore[attr-defined]
            freed = weakref.ref(cycle)
            del cycle
            await until(lambda freed=freed: freed() is None)
    finally:
        collecting.cancel()
        gc.enable()
