"""Fields of a pydantic model as form fields: kinds, bounds, values, and problems in plain words."""

from enum import Enum
from typing import Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from ui.formatting.values import problems
from ui.web.components.forms.fields import fields


class Colour(Enum):
    RED = 'red'
    BLUE = 'blue'


class Part(BaseModel):
    text: str
    score: int = Field(3, ge=1)
    colour: Colour
    notes: list[str]


class Everything(BaseModel):
    text: str = Field(min_length=3, max_length=10, title='A text', description='Any words', examples=['abc'])
    page: str = Field('', json_schema_extra={'multiline': True})
    whole: int = Field(3, ge=0, le=10)
    large: float = Field(3, le=10_000)
    word: str = Field('a', pattern='[a-z]+')
    part: float | None = Field(None, gt=0)
    ticked: bool = False
    literal: Literal['a', 'b'] = 'a'
    colour: Colour | None = None
    lines: list[str] = []
    words: list[str] = Field([], json_schema_extra={'inline': True})
    numbers: list[int] = Field([1], max_length=2)
    table: dict[str, int] = {}
    parts: list[Part] = []
    several: list[Literal['a', 'b']] = []
    pairs: dict[str, str] = {}
    clock: str = Field('', json_schema_extra={'format': 'time'})
    max_tokens: int = 100
    day: str = Field('', json_schema_extra={'format': 'date'})
    folder: str = Field('', max_length=9_000, json_schema_extra={'format': 'path'})
    bound: int = Field(1, json_schema_extra={'when': {'literal': ['b']}})

    @field_validator('clock')
    @classmethod
    def _is_time(cls, text):
        if text.isalpha():
            raise ValueError(f'must be a time such as 12:00, not {text}')
        return text

    @model_validator(mode='after')
    def _agrees(self):
        if self.whole == 7:
            raise ValueError('seven is taken')
        return self


BY_NAME = {field.name: field for field in fields(Everything)}


def test_a_field_has_the_control_of_its_type():
    assert {name: field.kind for name, field in BY_NAME.items()} == {
        'text': 'text', 'page': 'multiline', 'whole': 'integer', 'large': 'number', 'word': 'text',
        'part': 'number', 'ticked': 'boolean',
        'literal': 'choice', 'colour': 'choice', 'lines': 'list', 'words': 'list', 'numbers': 'list',
        'table': 'json', 'parts': 'nested', 'several': 'choices', 'pairs': 'pairs', 'clock': 'time',
        'max_tokens': 'integer', 'day': 'date', 'folder': 'path', 'bound': 'integer',
    }  # fmt: skip


def test_a_field_has_its_title_help_and_choices():
    assert (BY_NAME['text'].title, BY_NAME['text'].help, BY_NAME['text'].examples) == (
        'A text',
        'Any words',
        ('abc',),
    )
    assert BY_NAME['text'].required and not BY_NAME['page'].required
    assert BY_NAME['part'].optional and not BY_NAME['whole'].optional
    assert BY_NAME['bound'].when == {'literal': ('b',)} and not BY_NAME['whole'].when
    assert BY_NAME['parts'].new == {'text': '', 'score': 3, 'colour': 'red', 'notes': []}
    assert BY_NAME['colour'].choices == ('red', 'blue')
    assert (BY_NAME['max_tokens'].group, BY_NAME['whole'].group) == ('Budgets', '')


@pytest.mark.parametrize(
    ('name', 'raw', 'value'),
    [
        ('part', '', None),
        ('lines', 'a\n\n b, c \n', ['a', 'b, c']),
        ('words', 'a, b,a', ['a', 'b']),
        ('table', '{"a": 1}', {'a': 1}),
        ('parts', [{'text': 'a'}], [{'text': 'a'}]),
        ('colour', '', None),
        ('ticked', True, True),
        ('several', ['b'], ['b']),
        ('pairs', [['A', '1'], ['B', '']], {'A': '1', 'B': ''}),
        ('part', '0,5', '0.5'),
        ('part', '-12,25', '-12.25'),
        ('part', '1,000', '1,000'),  # a thousand, or one
    ],
)
def test_controls_are_read_and_written(name, raw, value):
    field = BY_NAME[name]
    assert field.parse(raw) == value
    assert field.parse(field.format(value)) == value


@pytest.mark.parametrize(
    ('given', 'field', 'problem'),
    [
        ({'text': ''}, 'text', 'Enter at least 3 characters.'),
        ({'text': 'ab'}, 'text', 'Enter at least 3 characters.'),
        ({'text': 'x' * 11}, 'text', 'Enter at most 10 characters (now 11).'),
        ({'whole': '11'}, 'whole', 'Enter 10 or less.'),
        ({'whole': '-1'}, 'whole', 'Enter 0 or more.'),
        ({'whole': '1.5'}, 'whole', 'Enter a whole number.'),
        ({'whole': ''}, 'whole', 'Enter a whole number.'),
        ({'part': '0'}, 'part', 'Enter more than 0.'),
        ({'part': '1,000'}, 'part', 'Enter a number.'),
        ({'whole': '0,5'}, 'whole', 'Enter a whole number.'),
        ({'large': '10001'}, 'large', 'Enter 10,000 or less.'),
        ({'word': '1'}, 'word', 'Enter a text that matches [a-z]+.'),
        ({'clock': 'noon'}, 'clock', 'Enter a time such as 12:00, not noon.'),
        ({'literal': ''}, 'literal', 'Choose one.'),
        ({'numbers': ['1', 'x']}, 'numbers', 'Entry 2: Enter a whole number.'),
        ({'numbers': ['1', '2', '3']}, 'numbers', 'Enter at most 2 entries (now 3).'),
        (
            {'parts': [{'text': 'a', 'score': 'x', 'colour': 'red', 'notes': []}]},
            'parts',
            'Entry 1, Score: Enter a whole number.',
        ),
        ({'whole': '7'}, '', 'Seven is taken.'),
    ],
)
def test_problems_are_phrased_plainly(given, field, problem):
    with pytest.raises(ValidationError) as caught:
        Everything.model_validate({'text': 'abcd', **given})
    assert problems(caught.value) == {field: problem}
