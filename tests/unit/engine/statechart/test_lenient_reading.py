"""Records in the memory of a run whose pattern has changed are read, whatever is missing or malformed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from engine.records.frozen import FrozenModel
from engine.statechart import read_leniently


class Kind(StrEnum):
    ROUND = 'round'


class Part(FrozenModel):
    name: str
    kind: Literal['big', 'small']
    size: float = 1.5


class Whole(BaseModel):
    title: str
    count: int = 7
    whole: bool = True
    parts: tuple[Part, ...] = ()
    best: Part | None = None
    shape: tuple[Kind, bool] = ('round', True)
    notes: dict[str, list[Annotated[str, Field(max_length=3)]]] = Field(default_factory=dict)


def test_a_valid_record_is_read_as_usual() -> None:
    values = {'title': 'a', 'parts': [{'name': 'b', 'kind': 'big'}], 'best': {'name': 'c', 'kind': 'small'}}
    assert read_leniently(Whole, values) == Whole.model_validate(values)


def test_missing_unknown_and_malformed_fields_do_not_matter() -> None:
    values = {
        'gone': 1, 'count': 'many', 'shape': ['square'], 'whole': None, 'best': 'b',
        'notes': {'a': ['long text', 3], 'b': 4},
        'parts': [{'name': 'b', 'kind': 'huge', 'size': 'x', 'gone': 2}, 5],
    }  # fmt: skip
    record = read_leniently(Whole, values)
    assert (record.title, record.count, record.whole, record.best) == ('', 0, True, None)
    assert record.shape == ('square', False)
    assert record.notes == {'a': ['long text', '3'], 'b': []}
    assert [(part.name, part.kind, part.size) for part in record.parts] == [('b', 'huge', 0), ('', '', 1.5)]


@pytest.mark.parametrize('value', [None, 3, 'x', [], {}, [1], {'a': 1}])
def test_anything_can_be_read(value: Any) -> None:
    assert read_leniently(Whole, value).count == 7
    assert all(part.size == 1.5 for part in read_leniently(list[Part], value))
    assert read_leniently(list[dict[str, Any]], value) == ([{}] if value == [1] else [])
    assert all(part.name == '' for part in read_leniently(dict[str, Part], value).values())
