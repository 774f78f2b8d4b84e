"""The choices in every pattern's forms are words that begin with a capital letter."""

import pytest

from engine import Catalog
from ui.web.components.forms.fields import Field, fields

CATALOG = Catalog.load()
CHOICES = [
    pytest.param(field, id=f'{name}-{field.name}')
    for name, pattern in CATALOG.patterns.items()
    for model in (pattern.Parameters, *pattern.inputs.values())
    for field in fields(model)
    if field.choices
]


@pytest.mark.parametrize('field', CHOICES)
def test_every_choice_has_a_label(field: Field):
    labels = [field.label(choice) for choice in field.choices]
    assert [
        item for item in labels if not item[0].isupper() or '_' in item or (item.isupper() and len(item) > 1)
    ] == []
    assert len(set(labels)) == len(labels)


def test_values_that_are_not_words_are_unchanged():
    field = Field(name='one', kind='choice', title='One')
    assert [field.label(text) for text in ('by_hand', 'gpt-4o', 'EUR', 'Small')] == [
        'By hand',
        'gpt-4o',
        'EUR',
        'Small',
    ]
