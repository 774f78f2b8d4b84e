"""Conversion to JSON: JSON stays the same, and other values do no harm."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from engine import EngineError
from engine.records.jsonable import clip, describe_error, to_jsonable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_json_values_are_unchanged(value: Any) -> None:
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
def test_other_values_become_json(value: Any, expected: Any) -> None:
    assert to_jsonable(value) == expected
    json.dumps(to_jsonable(value), allow_nan=False).encode()


@pytest.mark.parametrize('value', [object(), lambda: 1, {'x': b'\xff'}])
def test_values_without_a_json_form_are_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        to_jsonable(value)


FAMILY, DANES = '\U0001f468\u200d\U0001f469\u200d\U0001f467', '\U0001f1e9\U0001f1f0'


@pytest.mark.parametrize(
    ('text', 'most', 'shown'),
    [
        (f'ab{FAMILY}cd', 6, 'ab…'),
        (f'ab{FAMILY}cd', 8, f'ab{FAMILY}…'),
        ('ab\U0001f44d\U0001f3fdcd', 4, 'ab…'),
        (f'{DANES}{DANES}{DANES}', 4, f'{DANES}…'),
        ('abce\u0301fg', 5, 'abc…'),
        ('a' + '\u0301' * 99, 50, 'a' + '\u0301' * 48 + '…'),  # no character that a person would miss
        ('abcdef', 4, 'abc…'),
    ],
)
def test_a_text_is_cut_between_characters_as_people_see_them(text: str, most: int, shown: str) -> None:
    assert clip(text, most) == shown


def test_any_error_is_described_briefly() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe_error(EngineError('a sentence')) == 'a sentence'
    assert describe_error(KeyError('x')) == "KeyError: 'x'"
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(dict[str, list[int]]).validate_python({'a': 7, 'b': 8})
    assert describe_error(raised.value) == 'a: Input should be a valid list'
    assert describe_error(SystemExit()) == 'SystemExit'
    assert describe_error(Mute()) == 'Mute'
    assert len(describe_error(ValueError('x' * 100_000))) < 3_000
