"""Narrows an event's model to what a form asks for: fields omitted, texts turned into choices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Any, Literal

from pydantic import BaseModel, create_model
from pydantic.fields import FieldInfo


def narrow_model(
    model: type[BaseModel], *, without: Collection[str] = (), choices: Mapping[str, Sequence[str]]
) -> type[BaseModel]:
    """Return a model with the fields of `model`, for a form.

    Args:
        model: the model of the event's data.
        without: fields to omit because their values are known.
        choices: the allowed values of text fields; fields with a default may be left empty.
    """
    narrowed: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in without:
            continue
        kind: Any = field.annotation
        if choices.get(name):
            values = tuple(choices[name]) if field.is_required() else ('', *choices[name])
            kind = Literal[values]
        narrowed[name] = (kind, _add_label(field) if choices.get(name) else field)
    narrow = create_model(model.__name__, __config__=model.model_config, **narrowed)
    narrow.__doc__ = model.__doc__
    return narrow


def _add_label(field: FieldInfo) -> FieldInfo:
    labelled = copy(field)
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    labelled.json_schema_extra = {**extra, 'labels': {'': '–'}}
    return labelled
