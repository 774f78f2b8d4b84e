"""The fields of a record as forms, commands and the API show them: type, default, label and help."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from engine.records import COMPUTED, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordField:
    """A field of a record."""

    name: str
    kind: Any
    """Its type, without what is said about it."""
    annotation: Any
    """Its type with bounds."""
    default: Any
    help: str
    label: Label | None
    """How a form shows it; None if it has a control of its own."""
    computed: bool
    """Whether it is set where the record is stored."""


@functools.cache
def record_fields(record: Any) -> tuple[RecordField, ...]:
    """Return the fields of a dataclass or model, in its order; `...` is the default of a required one."""
    hints, docs = get_type_hints(record, include_extras=True), _docstrings(record)
    return tuple(_read(name, hints[name], default, docs) for name, default in _defaults(record))


def _docstrings(record: Any) -> Mapping[str, str]:
    body = cast(ast.ClassDef, ast.parse(textwrap.dedent(inspect.getsource(record))).body[0]).body
    docs: dict[str, str] = {}
    for node, following in pairwise(body):
        match node, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docs[name] = ' '.join(text.split())
    return docs


def _read(name: str, annotation: Any, default: Any, docs: Mapping[str, str]) -> RecordField:
    kind, *notes = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return RecordField(
        name=name,
        kind=kind,
        annotation=annotation,
        default=default,
        help=docs.get(name, ''),
        label=next((note for note in notes if isinstance(note, Label)), None),
        computed=COMPUTED in notes,
    )


def _defaults(record: Any) -> Iterator[tuple[str, Any]]:
    if not is_dataclass(record):  # a pydantic model, of the configuration
        for name, field in record.model_fields.items():
            yield name, ... if field.is_required() else field.get_default(call_default_factory=True)
        return
    for item in fields(record):
        yield item.name, _default(item)


def _default(item: Any) -> Any:
    if item.default is not MISSING:
        return item.default
    return ... if item.default_factory is MISSING else item.default_factory()
