"""The contract of every tool in the catalog: a schema, help and clear errors."""

from __future__ import annotations

import contextlib
import inspect
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Catalog, ToolContext
from engine.errors import ToolError
from engine.tools import Tool
from engine.tools.builtin.research.calculator import calculator
from engine.tools.builtin.research.notes import notes
from engine.tools.protocol import MAX_RESULT_TEXT, tool

TOOLS = Catalog.load().tools
every_tool = pytest.mark.parametrize('offered', TOOLS.values(), ids=list(TOOLS))


def context() -> ToolContext:
    return ToolContext(key='run:call-1-1')


@every_tool
def test_a_tool_describes_its_purpose_and_parameters(offered: Tool) -> None:
    spec = offered.spec
    assert spec.name == offered.name == inspect.getmodule(offered.call).__name__.rpartition('.')[2]  # type: ignore[union-attr]
    assert len(spec.description) > 20 and spec.description.endswith('.')
    assert spec.schema['type'] == 'object' and spec.schema['additionalProperties'] is False
    for name, field in spec.schema['properties'].items():
        assert field.get('description'), f'{name} has no help'
    assert json.loads(json.dumps(spec.schema)) == spec.schema
    assert (
        offered.category.islower() and 0 < offered.seconds <= 3_600 and 1_000 <= offered.most_text <= 100_000
    )


@every_tool
async def test_bad_arguments_are_refused_with_an_explanation(offered: Tool) -> None:
    for arguments in ('{', '[]', '"x"', 'null', '{"no_such_argument": 1}', '[' * 9_999, '9' * 5_000):
        with pytest.raises(ToolError) as refused:
            await offered.run(arguments, context())
        assert 10 < len(str(refused.value)) < 2_000, arguments[:9]


async def test_long_results_are_cut_in_the_middle_with_a_note() -> None:
    @tool()
    async def endless(context: ToolContext) -> str:
        """Return a long text."""
        return 'x' * (MAX_RESULT_TEXT + 7)

    text = await endless.run('', context())
    assert '\n[cut: 7 more characters]\n' in text and len(text) < MAX_RESULT_TEXT + 50


@pytest.mark.parametrize(
    ('expression', 'value'),
    [
        ('2 + 3 * 4', '14'),
        ('(2 + 3) * 4', '20'),
        ('7 // 2', '3'),
        ('7 % 4', '3'),
        ('-2 ** 2', '-4'),
        ('1 / 3', '0.333333333333'),
        ('2 ** 0.5', '1.41421356237'),
        ('1e3', '1000'),
        ('1 ** 99999', '1'),
        ('10 ** 20', '1' + '0' * 20),
    ],
)
async def test_the_calculator_calculates(expression: str, value: str) -> None:
    assert await calculator.run(json.dumps({'expression': expression}), context()) == value


@pytest.mark.parametrize(
    'expression',
    [
        '',
        'x',
        '1 +',
        'True',
        '"a"',
        '1 if 1 else 2',
        '[1]',
        '__import__("os")',
        '1 / 0',
        '1 // 0',
        '(' * 400,
        '-' * 499 + '1',
        '9 ** 9 ** 9',
        '((((9**64)**64)**64)**64)',
        '(-8) ** 0.5',
        '1e308 * 10',
        '2 ** -99999',
        '10**300 * 10.0**300',
        '0 ** -1',
        '5j',
    ],
)
async def test_the_calculator_refuses_unsupported_input_at_once(expression: str) -> None:
    started = time.process_time()
    try:
        text = await calculator.run(json.dumps({'expression': expression}), context())
        assert len(text) < 700
    except ToolError as refused:
        assert len(str(refused)) < 700
    assert time.process_time() - started < 0.5


@settings(max_examples=100, deadline=500)
@given(st.text('0123456789.+-*/%() e', max_size=40))
async def test_the_calculator_answers_or_refuses_any_input(expression: str) -> None:
    with contextlib.suppress(ToolError):
        await calculator.run(json.dumps({'expression': expression}), context())


async def test_notes_are_written_read_and_listed() -> None:
    tool_context = context()
    assert await notes.run('{"action": "list"}', tool_context) == 'There are no notes yet.'
    await notes.run('{"action": "write", "title": "a", "text": "b"}', tool_context)
    assert tool_context.store == {'a': 'b'}
    assert await notes.run('{"action": "read", "title": "a"}', tool_context) == 'b'
    assert await notes.run('{"action": "list"}', tool_context) == '- a'
    for arguments, says in (
        ('{"action": "read"}', 'title: needed'),
        ('{"action": "read", "title": "x"}', 'available: a'),
    ):
        with pytest.raises(ToolError, match=says):
            await notes.run(arguments, tool_context)
