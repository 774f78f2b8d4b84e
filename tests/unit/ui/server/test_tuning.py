"""Tuning for a server changes speed only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from nicegui import helpers

from ui.server.tuning import memoize_signature


class Hears:
    def nothing(self) -> None: ...

    def one(self, event: object) -> None: ...

    def any(self, *events: object, quick: bool = True) -> None: ...


@pytest.mark.parametrize(
    'func',
    [Hears().nothing, Hears().one, Hears().any, Hears.nothing, print, partial(Hears().one, 1), lambda x: x],
    ids=['none', 'one', 'any', 'function', 'built in', 'partial', 'lambda'],
)
def test_tuning_changes_no_answers(func: Callable[..., Any]) -> None:
    answer = memoize_signature(helpers.expects_arguments)
    assert [answer(func), answer(func)] == [helpers.expects_arguments(func)] * 2


def test_methods_of_other_objects_are_cached() -> None:
    asked: list[Callable[..., Any]] = []
    answer = memoize_signature(lambda func: bool(asked.append(func)))
    for _ in range(3):
        assert answer(Hears().one) is False
    assert len(asked) == 1
