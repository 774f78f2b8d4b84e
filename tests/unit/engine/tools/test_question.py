"""Questions of MCP servers: the form works even with an unusual schema."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records.question import answer_model


@pytest.mark.parametrize(
    'field',
    [
        {'type': 'string', 'oneOf': 5},
        {'type': 'string', 'anyOf': {'const': 'a'}},
        {'type': 'string', 'minLength': 1.5},
        {'type': 'string', 'minLength': -1},
        {'type': 'string', 'maxLength': 10**30},
        {'type': 'string', 'minLength': True},
        {'type': 'integer', 'minimum': 1.5},
        {'type': 'array', 'minItems': 2.5, 'items': {'type': 'string'}},
        {'type': 'array', 'items': 5},
        {'type': ['string', 'null'], 'format': ['date']},
        {'$ref': '#/nowhere'},
        {},
        'text',
    ],
)
def test_an_unusual_field_can_be_filled_in(field: Any) -> None:
    model = answer_model({'type': 'object', 'properties': {'a': field}, 'required': ['a', 'b', 5]})
    kind = field.get('type') if isinstance(field, dict) else None
    value: Any = {'integer': 1, 'array': ['x']}.get(kind if isinstance(kind, str) else '', 'text')
    assert model.model_validate({'a': value}).model_dump(by_alias=True) == {'a': value}


@pytest.mark.parametrize('fields', [{'properties': [1]}, {'properties': None, 'required': 'a'}, {'type': 5}])
def test_an_unusual_schema_asks_for_nothing(fields: dict[str, Any]) -> None:
    assert answer_model(fields).model_fields == {}
