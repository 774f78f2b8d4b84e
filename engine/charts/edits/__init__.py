"""Edits of a chart's text, as clicks in its diagram make them: comments, order and layout stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from engine.charts.edits.adding import AddAgent, AddEdge, AddState
from engine.charts.edits.changing import ChangeEdge, SetKey
from engine.charts.edits.deleting import DeleteEdge, DeleteState
from engine.charts.edits.renaming import Rename
from engine.charts.edits.settings import SetDefault, SetRole
from engine.charts.pattern import load_chart
from engine.errors import InvalidInput
from engine.statechart.pattern import validation_problems

Edit = (
    AddState | AddAgent | AddEdge | Rename | DeleteState | DeleteEdge | ChangeEdge | SetKey | SetDefault
    | SetRole
)  # fmt: skip
_EDIT: TypeAdapter[Edit] = TypeAdapter(Annotated[Edit, Field(discriminator='kind')])


def parse_edit(data: Mapping[str, Any]) -> Edit:
    """Return the edit that plain JSON describes. Raises `InvalidInput`, naming each field."""
    try:
        return _EDIT.validate_python(dict(data))
    except ValidationError as error:
        raise InvalidInput(validation_problems(error)) from None


def edit_chart(text: str, edit: Edit) -> str:
    """Return the text of a chart after an edit; all that it does not touch stays as it is.

    A chart that works still does afterwards.

    Raises:
        InvalidInput: why the edit cannot be applied, by field; or the line in which the text is no YAML.
    """
    edited = edit.apply(text)
    if (problems := _problems(edited)) and not _problems(text):
        listed = '; '.join(f'{where.partition(":")[2]}: {problem}' for where, problem in problems.items())
        raise InvalidInput({'edit': f'the chart would no longer work, line {listed}'})
    return edited


def _problems(text: str) -> Mapping[str, str]:
    try:
        load_chart(text)
    except InvalidInput as error:
        return error.problems
    return {}


__all__ = [
    'AddAgent', 'AddEdge', 'AddState', 'ChangeEdge', 'DeleteEdge', 'DeleteState', 'Edit', 'Rename',
    'SetDefault', 'SetKey', 'SetRole', 'edit_chart', 'parse_edit',
]  # fmt: skip
