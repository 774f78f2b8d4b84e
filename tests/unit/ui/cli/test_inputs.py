"""Values typed on the command line, read by the type of their parameter."""

from __future__ import annotations

from engine.patterns.dynamic.podcast import Podcast
from ui.cli.inputs import parse_parameters
from ui.formatting.fields.parameters import describe_pattern


def test_a_text_field_takes_text_even_if_it_is_json() -> None:
    text = '{"segments": []}'
    values = parse_parameters(describe_pattern(Podcast), None, [f'transcript={text}'])
    assert values == {'transcript': text}
