"""Question: a tool server's question to a person in the middle of a call, and the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from pydantic_core import PydanticCustomError

from engine.records.frozen import FrozenModel
from engine.records.message import Image, ToolResult

Action = Literal['accept', 'decline', 'cancel']
"""A person's kind of answer: the requested values, a refusal, or neither."""
MAX_FIELDS = 50
"""Maximum number of fields in a question."""
MAX_SIZE = 2**31
"""Length bounds from here on are ignored."""
SIMPLE: dict[str, Any] = {'string': str, 'integer': int, 'number': float, 'boolean': bool}


def _email(value: str) -> str:
    if not re.fullmatch(r'[^@\s]+@[^@\s]+\.[^@\s]+', value):
        raise PydanticCustomError('email', 'This is not an e-mail address')
    return value


FORMATS: dict[str, Any] = {
    'email': Annotated[str, AfterValidator(_email)],
    'uri': AnyUrl,
    'date': date,
    'date-time': AwareDatetime,
}
BOUNDS: Mapping[str, tuple[str, str]] = {
    'integer': ('minimum', 'maximum'),
    'number': ('minimum', 'maximum'),
    'string': ('minLength', 'maxLength'),
    'array': ('minItems', 'maxItems'),
}
"""The lower and upper bound of each type."""


class Question(FrozenModel):
    """A question that a server asks in the middle of a tool call."""

    call: str
    """The id of the tool call."""
    server: str
    message: str
    fields: Mapping[str, Any] = {}
    """JSON Schema of the requested values: an object with simple fields."""
    url: str = ''
    """The page to visit, instead of fields."""
    action: Action | None = None
    """How it was answered; None while it is open."""
    content: Mapping[str, Any] | None = None
    """The values, if the question asked for some and was accepted."""

    def is_same(self, other: Question) -> bool:
        """Return whether both ask the same in the same call; a page's URL may differ each time."""
        left, right = (
            (question.call, question.server, question.message, question.fields, bool(question.url))
            for question in (self, other)
        )
        return left == right

    def with_answer(self, data: Mapping[str, Any]) -> Question:
        """Return this question with a person's answer. Raises pydantic's `ValidationError` if invalid."""
        answer, content = Answer.model_validate(dict(data)), None
        if answer.action == 'accept' and not self.url:
            checked = answer_model(self.fields).model_validate(answer.content)
            content = checked.model_dump(mode='json', by_alias=True, exclude_none=True)
        return self.model_copy(update={'action': answer.action, 'content': content})

    def problems(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Return the problems with a person's answer by field; {} if it is valid."""
        try:
            self.with_answer(data)
        except ValidationError as error:
            inside = ('content',) if error.title != Answer.__name__ else ()
            return {'.'.join(map(str, (*inside, *item['loc']))): item['msg'] for item in error.errors()}
        return {}


class OpenBatch(FrozenModel):
    """A batch of tool calls in which a server has asked a person a question."""

    results: tuple[ToolResult, ...] = ()
    """The results of the calls that have ended."""
    images: tuple[Image, ...] = ()
    questions: tuple[Question, ...] = ()
    """The questions asked so far, in order; only the last one may be open."""

    @property
    def question(self) -> Question | None:
        """The open question, if there is one."""
        return self.questions[-1] if self.questions and self.questions[-1].action is None else None

    def with_question(self, data: Mapping[str, Any]) -> OpenBatch:
        """Return this batch updated with the data of an `asked` event."""
        question = Question.model_validate(data['question'])
        more = {'results': data['finished'], 'images': data.get('images', ())}
        ended = OpenBatch.model_validate(more)
        return OpenBatch(
            results=(*self.results, *ended.results),
            images=(*self.images, *ended.images),
            questions=(*self.questions, question),
        )

    def with_answer(self, data: Mapping[str, Any]) -> OpenBatch:
        """Return this batch updated with the data of an `answer` event."""
        *before, last = self.questions
        return self.model_copy(update={'questions': (*before, last.with_answer(data))})


class Answer(BaseModel):
    """Answer a tool server's question: accept with the values in `content`, decline, or cancel."""

    model_config = ConfigDict(extra='forbid')

    action: Action = 'accept'
    content: dict[str, Any] = {}
    """The requested values."""


def answer_model(schema: Mapping[str, Any]) -> type[BaseModel]:
    """Build the model for a question's fields; fields of other than simple types become text."""
    properties, required = schema.get('properties'), schema.get('required')
    listed = list(properties.items())[:MAX_FIELDS] if isinstance(properties, Mapping) else []
    fields_by_name: dict[str, Any] = {
        f'field_{number}': _field(
            str(name),
            field_schema if isinstance(field_schema, Mapping) else {},
            required=isinstance(required, list) and name in required,
        )
        for number, (name, field_schema) in enumerate(listed)
    }
    return create_model('Content', __config__=ConfigDict(extra='forbid'), **fields_by_name)


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> tuple[Any, Any]:
    several = schema.get('type') == 'array'
    items = schema.get('items') if several else schema
    choices = dict(_choices(items if isinstance(items, Mapping) else {}))
    item_type: Any = Literal[tuple(choices)] if choices else _simple(schema)
    kind: Any = list[item_type] if several else item_type
    description = str(schema.get('description') or '')
    if several and choices:
        description = f'{description} Any of: {", ".join(choices)}.'.strip()
    named = {} if several else {value: label for value, label in choices.items() if value != label}
    labels: dict[str, Any] | None = {'labels': named} if named else None
    return (
        kind if required else kind | None,
        Field(
            schema.get('default', ... if required else None),
            alias=name,
            title=str(schema.get('title') or name.replace('_', ' ').capitalize()),
            description=description or None,
            json_schema_extra=labels,
            **({} if choices and not several else _bounds(schema)),
        ),
    )


def _simple(schema: Mapping[str, Any]) -> Any:
    kind = schema.get('type')
    if kind == 'string':
        return FORMATS.get(str(schema.get('format')), str)
    return SIMPLE.get(str(kind), str)


def _choices(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the values to choose from, each with its label."""
    values, names = schema.get('enum'), schema.get('enumNames')
    if isinstance(values, list):
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        yield from zip(map(str, values), map(str, labels), strict=True)
        return
    parts = schema.get('oneOf') or schema.get('anyOf')
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping) and 'const' in part:
            yield str(part['const']), str(part.get('title') or part['const'])


def _bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(schema.get('type'))
    if kind == 'string' and schema.get('format') in ('date', 'date-time', 'uri'):
        return {}
    low, high = BOUNDS.get(kind, ('', ''))
    words = ('ge', 'le') if kind in ('integer', 'number') else ('min_length', 'max_length')
    return {
        word: schema[bound]
        for word, bound in zip(words, (low, high), strict=True)
        if _is_bound(schema.get(bound), kind)
    }


def _is_bound(value: object, kind: str) -> bool:
    """Return whether a server's bound can be enforced here; otherwise only the server checks it."""
    if isinstance(value, bool):
        return False
    if kind == 'number':
        return isinstance(value, int | float)
    return isinstance(value, int) and (kind == 'integer' or 0 <= value < MAX_SIZE)
