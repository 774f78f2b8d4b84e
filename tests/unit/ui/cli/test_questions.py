"""Questions of MCP servers in the terminal: printed, and asked field by field."""

import pytest
import typer

from engine.records import Question
from ui.cli.execution.questions import ask_in_terminal, question_lines

FIELDS = {
    'type': 'object',
    'properties': {
        'name': {'type': 'string', 'minLength': 2, 'description': 'Who stays'},
        'nights': {'type': 'integer', 'maximum': 30},
        'size': {'type': 'string', 'enum': ['s', 'l']},
    },
    'required': ['name'],
}
ASKED = Question(call='1', server='hotel', message='Who\x1b[31m stays?', fields=FIELDS)


def test_a_question_is_printed_with_the_values_that_its_fields_accept() -> None:
    lines = list(question_lines(ASKED))
    assert lines[0] == 'hotel asks: Who[31m stays?'
    assert lines[1] == 'name: string; characters at least 2; Who stays'
    assert lines[2] == 'nights: integer; at most 30; optional'
    assert lines[3] == 'size: s, l; optional'
    page = ASKED.model_copy(update={'url': 'https://pay.example/1'})
    assert 'visit https://pay.example/1' in '\n'.join(question_lines(page))


@pytest.mark.parametrize(
    ('typed', 'data'),
    [
        (['accept', 'Ada', '2', ''], {'content': {'name': 'Ada', 'nights': '2'}}),
        (['decline'], {'action': 'decline'}),
    ],
)
def test_a_person_at_a_terminal_is_asked_for_each_field(
    typed: list[str], data: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    remaining = list(typed)
    monkeypatch.setattr(typer, 'prompt', lambda *_, **__: remaining.pop(0))
    assert ask_in_terminal(ASKED) == data
    assert not remaining
    assert ASKED.problems(data) == {}
