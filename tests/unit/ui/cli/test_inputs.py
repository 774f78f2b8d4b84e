"""Values typed on the command line, read by the type of their parameter."""

from __future__ import annotations

import pytest

from engine import Catalog
from engine.patterns.dynamic.podcast import Podcast
from ui.cli.inputs import parse_parameters
from ui.formatting.fields.parameters import describe_pattern


def test_a_text_field_takes_text_even_if_it_is_json() -> None:
    text = '{"segments": []}'
    values = parse_parameters(describe_pattern(Podcast), None, [f'transcript={text}'])
    assert values == {'transcript': text}


@pytest.mark.parametrize(('text', 'value'), [('true', True), ('false', False)])
def test_what_is_true_or_false_is_given_in_words(text: str, value: bool) -> None:
    author = Catalog.load().pattern('author')
    values = parse_parameters(describe_pattern(author), 'a toast', [f'review={text}', 'tools=["notes"]'])
    parsed = author.parse(values).model_dump()
    assert (parsed['review'], parsed['request'], parsed['tools']) == (value, 'a toast', ('notes',))
