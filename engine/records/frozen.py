"""Immutable records: `FrozenModel`, a base class of models; and `quick`, for frozen dataclasses."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

T = TypeVar('T')


class FrozenModel(BaseModel):
    """Immutable; rejects unknown fields."""

    model_config = ConfigDict(frozen=True, extra='forbid')


def quick(cls: type[T]) -> type[T]:
    """Let a frozen dataclass with slots set its fields by plain assignment, in a third of the time.

    For a frozen class, `dataclass` generates a call of `object.__setattr__` per field, and a step creates
    eight records with seventy fields. So a record has a writable twin class while it is being created.
    """
    slots: Any = getattr(cls, '__slots__')  # noqa: B009
    twin = type(cls.__name__, (), {'__slots__': slots, '__module__': cls.__module__})
    known: dict[str, Any] = {'_cls': cls, '_twin': twin, '_set': object.__setattr__, '_none': object()}
    given, lines = [], ['_set(self, "__class__", _twin)']
    for each in fields(cls):  # type: ignore[arg-type]
        name, value = each.name, each.name
        if each.default is not MISSING:
            known[f'_{name}'] = each.default
            given.append(f'{name}=_{name}')
        elif each.default_factory is not MISSING:
            known[f'_{name}'] = each.default_factory
            given.append(f'{name}=_none')
            value = f'_{name}() if {name} is _none else {name}'
        else:
            given.append(name)
        lines.append(f'self.{name} = {value}')
    copied = [f'made.{name} = self.{name}' for name in slots]
    _define(cls, f'__init__(self, *, {", ".join(given)})', [*lines, 'self.__class__ = _cls'], known)
    changed = ['for name, value in changes.items():', '    setattr(made, name, value)']
    end = ['made.__class__ = _cls', 'return made']
    _define(cls, '__replace__(self, /, **changes)', ['made = _twin()', *copied, *changed, *end], known)
    return cls


def evolve(record: T, **changes: Any) -> T:
    """Return a changed copy of a `quick` record: `dataclasses.replace` in a quarter of the time."""
    made: T = record.__replace__(**changes)  # type: ignore[attr-defined]
    return made


def _define(cls: type, head: str, lines: list[str], known: dict[str, Any]) -> None:
    body = '\n    '.join(lines)
    exec(f'def {head}:\n    {body}', known)
    made = known[head.partition('(')[0]]
    made.__qualname__ = f'{cls.__qualname__}.{made.__name__}'
    made.__annotations__ = getattr(cls, made.__name__, made).__annotations__
    setattr(cls, made.__name__, made)
