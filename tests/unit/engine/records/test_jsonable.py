"""Conversion to JSON: JSON stays the same, and what JSON lacks does no harm."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import EngineError
from engine.records.jsonable import describe_error, to_jsonable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=50, deadline=None)
@given(JSON)
def test_json_stays_as_it_is(value: Any) -> None:
    assert to_jsonable(value) == value


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        (float('nan'), None),
        ({'x': [float('inf')]}, {'x': [None]}),
        ('half \ud83d', 'half ?'),
        ({'\ud83d': ('a', {1})}, {'?': ['a', [1]]}),
        (date(2025, 1, 2), '2025-01-02'),
        ({1: 2}, {'1': 2}),
    ],
)
def test_what_json_lacks_becomes_something_it_has(value: Any, expected: Any) -> None:
    assert to_jsonable(value) == expected
    json.dumps(to_jsonable(value), allow_nan=False).encode()


@pytest.mark.parametrize('value', [object(), lambda: 1, {'x': b'\xff'}])
def test_what_has_no_form_in_json_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        to_jsonable(value)


def test_an_error_is_said_shortly_whatever_it_is() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe_error(EngineError('a sentence')) == 'a sentence'
    assert describe_error(KeyError('x')) == "KeyError: 'x'"
    assert describe_error(SystemExit()) == 'SystemExit'
    assert describe_error(Mute()) == 'Mute'
    assert len(describe_error(ValueError('x' * 100_000))) < 3_000
