"""Lazy copies of memory for activities: a snapshot whose parts are copied on first access."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel

from engine.statechart.memory import Memory, TrackedDict, TrackedList

M = TypeVar('M', bound=Memory)
FIELDS: Any = BaseModel.__dict__['__dict__']
"""Accesses a model's field values, even if its class overrides `__dict__`."""
UNCOPIED = '_uncopied'


def lazy_copy(memory: M) -> M:
    """Return a copy of memory independent of any run: writes to it affect nothing else.

    Its cost depends on the number of fields, not on their size: a list or dict is copied on first access, as
    it was when this copy was made.
    """
    copied: dict[str, Any] = {}
    uncopied: dict[str, Callable[[], Any]] = {}
    for name, value in memory.__dict__.items():
        if isinstance(value, (TrackedList, TrackedDict)):
            uncopied[name] = value.share(_capture)
        else:
            copied[name] = lazy_copy(value) if isinstance(value, Memory) else value
    lazy: M = object.__new__(_lazy_class(type(memory)))
    FIELDS.__set__(lazy, copied)
    object.__setattr__(lazy, '__pydantic_fields_set__', set(memory.model_fields_set))
    object.__setattr__(lazy, '__pydantic_extra__', None)
    private = {**(memory.__pydantic_private__ or {}), '_log': None, '_at': '', UNCOPIED: uncopied}
    object.__setattr__(lazy, '__pydantic_private__', private)
    return lazy


def _capture(value: Any) -> Callable[[], Any]:
    """Capture a value in a list or dict, to be copied later, as it is now."""
    if isinstance(value, (TrackedList, TrackedDict)):
        return value.share(_capture)
    captured = lazy_copy(value) if isinstance(value, Memory) else value
    return lambda: captured


def _copy_all_fields(lazy: Any) -> None:
    """Copy all parts not accessed yet, and turn the copy into an ordinary object of its class."""
    uncopied = lazy.__pydantic_private__.pop(UNCOPIED)
    copied, cls = FIELDS.__get__(lazy), type(lazy).__mro__[1]
    fields: Any = getattr(cls, 'model_fields')  # noqa: B009
    FIELDS.__set__(lazy, {name: uncopied[name]() if name in uncopied else copied[name] for name in fields})
    object.__setattr__(lazy, '__class__', cls)


def _copy_field(lazy: Any, name: str) -> Any:
    """Copy a part on first access."""
    uncopied = lazy.__pydantic_private__[UNCOPIED]
    if name not in uncopied:
        return BaseModel.__getattr__(lazy, name)  # type: ignore[attr-defined]
    value = FIELDS.__get__(lazy)[name] = uncopied.pop(name)()
    return value


def _delegate(name: str) -> Callable[..., Any]:
    def method(lazy: Any, *arguments: Any) -> Any:
        _copy_all_fields(lazy)
        return getattr(lazy, name)(*arguments)

    return method


def _all_fields(lazy: Any) -> Any:
    _copy_all_fields(lazy)
    return lazy.__dict__


LAZY_ATTRIBUTES: dict[str, Any] = {
    '__getattr__': _copy_field,
    '__dict__': property(_all_fields),
    **{
        name: _delegate(name)
        for name in ('__setattr__', '__delattr__', '__eq__', '__copy__', '__deepcopy__', '__reduce_ex__')
    },
}
"""Additional attributes of a copy's class until all of its parts have been copied."""


@lru_cache(maxsize=1_000)
def _lazy_class(cls: type[M]) -> type[M]:
    """Return a class that looks like `cls`, but is no model: it shares what pydantic built for `cls`."""
    meta: Any = type(cls)
    named = {'__module__': cls.__module__, '__qualname__': cls.__qualname__, '__hash__': cls.__hash__}
    # Bypasses pydantic's metaclass, which would build a schema.
    lazy: type[M] = ABCMeta.__new__(meta, cls.__name__, (cls,), LAZY_ATTRIBUTES | named)
    return lazy
