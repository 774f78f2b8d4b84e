"""Questions of tool servers in the terminal: shown, and answered field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from pydantic import BaseModel

from engine.records import Question, answer_model
from ui.formatting.plain_text import one_line, strip_control


def question_lines(question: Question) -> Iterator[str]:
    """Yield lines with the question and how to answer it."""
    yield one_line(f'{question.server} asks: {question.message}', 500)
    if question.url:
        yield f'visit {one_line(question.url, 500)}, then send answer; or --set action=decline'
        return
    for name, field in _fields(answer_model(question.fields)):
        yield one_line(f'{name}: {field}', 300)
    yield """send answer --set 'content={"NAME": VALUE}', or --set action=decline (or cancel)"""


def ask_in_terminal(question: Question) -> dict[str, Any]:
    """Ask a person at a terminal, field by field; blocks.

    Returns:
        The data of the `answer` event.
    """
    typer.echo(strip_control(f'{question.server} asks: {question.message}'))
    if question.url:
        typer.echo(strip_control(question.url))
    answers = typer.prompt('accept, decline or cancel', default='accept', err=True)
    if answers != 'accept' or question.url:
        return {'action': answers}
    content = {}
    for name, field in _fields(answer_model(question.fields)):
        typed = typer.prompt(strip_control(f'{name} ({field})'), default='', show_default=False, err=True)
        if typed:
            content[name] = typed
    return {'content': content}


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield each field with a description of its valid values."""
    for field in model.model_fields.values():
        schema = model.model_json_schema()['properties'][field.alias]
        kinds = [part for part in schema.get('anyOf', (schema,)) if part.get('type') != 'null']
        kind = kinds[0] if kinds else {}
        choices = kind.get('enum') or ([kind['const']] if 'const' in kind else [])
        facts = [
            ', '.join(map(str, choices)) or str(kind.get('format') or kind.get('type', '')),
            *(f'{word} {kind[bound]}' for bound, word in BOUNDS.items() if bound in kind),
            '' if field.is_required() else 'optional',
            str(schema.get('description', '')),
        ]
        yield str(field.alias), '; '.join(filter(None, facts))


BOUNDS = {
    'minimum': 'at least',
    'maximum': 'at most',
    'minLength': 'characters at least',
    'maxLength': 'characters at most',
}
