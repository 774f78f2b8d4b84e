"""Breakpoint conditions: what they can express and reject, and that they have no side effects."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from engine import InvalidInput
from engine.runtime import CONDITION_NAMES, parse_condition
from engine.runtime.debugger.condition import MAX_CONDITION, check_condition
from engine.statechart.expressions.functions import FUNCTIONS
from engine.statechart.expressions.values import EvaluationError


class Item(BaseModel):
    title: str
    score: float | None = None

    @property
    def secret(self) -> str:
        raise AssertionError('no property is looked at')


class At:
    """A moment whose names have values set by the test."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    def value(self, name: str) -> Any:
        return self.values.get(name)


MOMENT = At(
    cost=0.5,
    tokens=1200,
    step=7,
    state='analyzing.thinking',
    text='Hello Wörld',
    tools=['search', 'notes'],
    memory={'plan': [{'title': 'a', 'score': 5}, {'title': 'b'}], 'item': Item(title='x', score=70), 'n': 3},
    data={'output': {'approved': False, 'a b': 1}},
)


@pytest.mark.parametrize(
    'text',
    [
        'cost > 0.4 and tokens >= 1200',
        'not (cost > 1)',
        '"search" in tools and "rss" not in tools',
        'len(tools) == 2',
        'contains(lower(text), "wörld") and starts(text, "Hello")',
        'state == "analyzing.thinking"',
        'memory.plan[0].title == "a" and memory.plan[-1]["title"] == "b"',
        'memory.item.score > 60 and memory.item == memory.item',
        'data.output.approved == false and data.output["a b"] == 1',
        'any(item.score < 60 for item in memory.plan)',
        'all(item.title != "c" for item in memory.plan if item.title)',
        'min(memory.n, 2) == 2 and max([1, 9, 3]) == 9 and abs(-4) == 4 and sum([1, 2]) == 3',
        '1 < step < 10 and step % 2 == 1 and step // 2 == 3 and step * 2 - 1 == 13',
        'memory.none == null and score == null and text != None and memory.n is not null',
        '  cost > 0.4',
        'true or 1 % 0',
        '"b" + "c" == "bc"',
        '"title" in memory.plan[0]',
        '[item.title for item in memory.plan if item.score] == ["a"] and sum(x for x in [1, 2]) == 3',
        '[x + y for x in ["a", "b"] for y in ["c"]] == ["ac", "bc"]',
        '{"a": step}.a == 7 and (error or "none") == "none" and ("x" if cost > 1 else "y") == "y"',
    ],
)
def test_a_condition_is_met(text: str) -> None:
    assert parse_condition(text).holds(MOMENT)


@pytest.mark.parametrize(
    'text',
    [
        'score < 60', 'score > 60', 'score != 60', 'score == 60', 'error in ["a"]', '"a" in error',
        '"a" not in error', 'contains(error, "a")', 'len(error) == 0', 'score + 1 > 0', '-score < 0',
        'memory.plan[9].title == "a"', 'memory.item.secret == "x"', 'memory.item.model_fields == 1',
        'memory.__class__', 'text.upper', 'tools.append', 'memory["n"]["m"]', 'any(item for item in error)',
        'min([])', 'null', 'cost > 1',
    ],
)  # fmt: skip
def test_missing_values_are_null(text: str) -> None:
    assert not parse_condition(text).holds(MOMENT)


@pytest.mark.parametrize(
    ('text', 'column', 'says'),
    [
        ('cost >', 7, 'it ends too early'),
        ('cost = 3', 6, 'use == to compare two values'),
        ('cost >> 3', 1, '`>>` cannot be used here'),
        ('cost > 1 | tokens > 3', 8, '`|` (write `or`)'),
        ('{1}', 1, 'a set'),
        ('cost > price', 8, "there is no 'price'; available: cost, tokens"),
        ('"ö" == text and wrong', 17, "no 'wrong'"),
        ('  wrong', 3, "no 'wrong'"),
        ('open("x")', 1, "no function 'open'; available: len"),
        ('__import__("os")', 1, 'no function'),
        ('text.upper()', 1, 'call'),
        ('len(text, 3)', 1, 'len takes 1 values, not 2'),
        ('2 ** 9', 1, 'a power cannot be used here'),
        ('{x for x in tools}', 1, '`for` in braces'),
        ('any(x for x, y in tools)', 1, 'one name'),
        ('any(cost for cost in tools)', 1, 'something else'),
        ('any(x for x in tools) and x', 27, "no 'x'"),
        ('lambda: 1', 1, 'an inline function'),
        ('(y := 3)', 2, '`:=`'),
        ('f"{cost}"', 1, 'a string with embedded values'),
        ('tools[0:1]', 1, 'a part of a list'),
        ('cost is 3', 1, 'compares with null'),
        ('{**data}', 1, 'an object of this kind'),
        ('b"x" == text', 1, 'this kind of constant'),
        ('not ' * 40 + 'true', 125, 'nested too deeply'),
        ('(' * 300, 200, ''),
        ('cost > 1; 2', 9, 'it cannot be parsed from here on'),
    ],
)
def test_unsupported_syntax_is_refused_with_its_column(text: str, column: int, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_condition(text)
    problem = refused.value.problems['when']
    assert problem.startswith(f'column {column}: ' if says else 'column ') and says in problem


@pytest.mark.parametrize(
    ('text', 'says'),
    [
        ('text > 3', 'cannot compare a text with a number'),
        ('tools > 3', 'cannot compare a list with a number'),
        ('tools + 3', 'cannot work with a list and a number'),
        ('text * 3', 'cannot work with a text and a number'),
        ('true + 1', 'cannot work with true or false and a number'),
        ('1 / (step - 7)', 'division by zero'),
        ('1 in text', 'cannot look for a number in a text'),
        ('1 in cost', 'needs a list, not a number'),
        ('lower(cost)', 'lower needs text, not a number'),
        ('sum(tools)', 'needs numbers, not a text'),
        ('max(1, text)', 'needs numbers, not a text'),
        ('any(x > 0 for x in cost)', 'needs a list'),
        ('any(x < 0 for x in memory.long)', 'takes too long'),
        ('len(memory.big + memory.big) > 1', 'too long'),
    ],
)
def test_type_errors_are_explained(text: str, says: str) -> None:
    moment = At(**{**MOMENT.values, 'memory': {'long': list(range(20_000)), 'big': 'x' * 700_000}})
    with pytest.raises(EvaluationError, match=says):
        parse_condition(text).holds(moment)


LONG = {
    'items': [Item(title=f'item {number}', score=number) for number in range(5_000)],
    'rows': [{'name': f'row {number}', 'tags': ['a', 'b']} for number in range(5_000)],
    'words': [f'word {number}' for number in range(5_000)],
    'text': 'x' * 1_000_000,
}


@pytest.mark.parametrize(
    'text',
    [
        'any("none" in memory.words for x in memory.words)',
        'any("none" in memory.items for x in memory.words)',
        'any(x in memory.items for x in memory.words)',
        'any(memory.items == memory.rows for x in memory.words)',
        'any(memory.rows[-1] not in memory.rows for x in memory.words)',
        'any(contains(memory.rows, memory.rows[-1]) and false for x in memory.words)',
        'any("y" in memory.text for x in memory.words)',
        'any(lower(memory.text) == x for x in memory.words)',
        'any(sum(memory.words) > 1 or x == "none" for x in memory.words)',
        'any(any(x == y for y in memory.words) for x in memory.items)',
    ],
)
def test_a_long_list_does_not_block_the_loop(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(EvaluationError):
        parse_condition(text).holds(At(memory=LONG))
    assert time.process_time() - begun < 1.0


@pytest.mark.parametrize(
    'text',
    [
        '"word 4999" in memory.words and "none" not in memory.words',
        'memory.items[-1] in memory.items',
        'memory.rows == memory.rows',
        'len(memory.text) > 1 and "title" in memory.items[0] and "none" not in memory.items',
    ],
)
def test_a_long_list_can_be_searched_once(text: str) -> None:
    assert parse_condition(text).holds(At(memory=LONG))


def test_long_conditions_are_refused_and_memory_fields_checked() -> None:
    with pytest.raises(InvalidInput, match='at most 500 characters, not 501'):
        parse_condition('x' * (MAX_CONDITION + 1))
    with pytest.raises(InvalidInput, match="column 10: memory has no field 'nine'; available: n, plan"):
        check_condition('step and memory.nine > 1', ('n', 'plan'))
    check_condition('memory.n > 1 and memory["plan"][0]', ('n', 'plan'))


def test_lasting_and_momentary_conditions_are_distinguished() -> None:
    assert parse_condition('cost > 1 and memory.n and not disagree').is_persistent
    assert not parse_condition('cost > 1 and "x" in tools').is_persistent


PIECES = [
    *CONDITION_NAMES,
    *FUNCTIONS,
    *('and', 'or', 'not', 'in', 'is', 'for', 'x', 'if', 'null', 'true', 'lambda', 'f"{x}"', ':='),
    *('(', ')', '[', ']', '.', ',', '.title', '[0]', '==', '!=', '<', '>'),
    *('+', '-', '*', '/', '//', '%', '**'),
    *('"a"', "'", '3', '1e999', '99999999999999999999', '0x', '\n', '\0', '\\', '\ud800', 'é', ' '),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map(' '.join)
    | st.lists(st.sampled_from(PIECES), max_size=12).map(''.join)
    | st.text(max_size=30),
    JSON,
)
def test_any_text_parses_or_is_refused(text: str, value: Any) -> None:
    try:
        condition = parse_condition(text)
    except InvalidInput as error:
        assert list(error.problems) == ['when']
        return
    moment = At(**dict.fromkeys(CONDITION_NAMES, value))
    try:
        assert condition.holds(moment) in (True, False)
    except EvaluationError as error:
        assert str(error)
