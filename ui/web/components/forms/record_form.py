"""Forms of records: the model that `Form` draws, derived from a dataclass."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from ui.formatting.fields.record_fields import record_fields


def form_model(record: Any, *, group: str = '', without: Collection[str] = ()) -> type[BaseModel]:
    """Return a model of the fields of a dataclass that have a `Label`.

    Args:
        record: the dataclass.
        group: the collapsible section that they are in.
        without: fields that are left out.
    """
    shown: dict[str, Any] = {}
    for item in record_fields(record):
        if item.label and item.name not in without:
            extra: dict[str, Any] = {'group': group, 'labels': dict(item.label.choices), 'inline': True}
            words = item.help if '. ' in item.help else item.help.removesuffix('.')
            field = Field(item.default, title=item.label.title, description=words, json_schema_extra=extra)
            shown[item.name] = (item.annotation, field)
    return create_model(record.__name__, __config__=ConfigDict(str_strip_whitespace=True), **shown)
