"""Memory that writes down its own changes, so that a step costs what it changed and not what it holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any, Self, SupportsIndex

from pydantic import BaseModel, ConfigDict, PrivateAttr
from pydantic_core import to_jsonable_python

from engine.pointer import escape
from engine.records import Change


class MemoryMisuse(TypeError):
    """Memory was written outside an action, or holds something whose changes cannot be seen."""


class Log:
    """Collects the changes of one run's data while it is open; refuses them while it is not."""

    __slots__ = ('changes', 'open')

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.open = False

    def note(self, op: Any, path: str, value: Any = None) -> None:
        """Write one change down. Raises `MemoryMisuse` outside an action."""
        if not self.open:
            raise MemoryMisuse(f'{path or "/"} was written outside an action: only actions write memory')
        self.changes.append(Change(op=op, path=path, value=to_jsonable_python(value)))

    def take(self) -> tuple[Change, ...]:
        """The changes since the last call."""
        changes, self.changes = tuple(self.changes), []
        return changes


class Memory(BaseModel):
    """Base of what a run remembers.

    Fields hold scalars, frozen records, tuples of these, other `Memory` objects, and lists and dicts (whose
    elements are again of that kind; inside a list, nothing that can change in place).
    """

    model_config = ConfigDict(extra='forbid', validate_assignment=True)

    _log: Log | None = PrivateAttr(None)
    _at: str = PrivateAttr('')

    def attach(self, log: Log, at: str) -> None:
        """Report changes to `log` from now on, as those of the JSON pointer `at`."""
        for name in type(self).model_fields:
            self.__dict__[name] = adopt(self.__dict__[name], log, f'{at}/{name}')
        self._log, self._at = log, at

    def __setattr__(self, name: str, value: Any) -> None:
        # Not by their names: pydantic takes 40 times as long to find them.
        private = self.__pydantic_private__
        log: Log | None = private['_log'] if private else None
        if private is None or log is None or name in ('_log', '_at'):
            super().__setattr__(name, value)
            return
        path = f'{private["_at"]}/{name}'
        if not log.open:
            raise MemoryMisuse(f'{path} was written outside an action: only actions write memory')
        if name.startswith('_'):
            raise MemoryMisuse(f'{path} is private and would not be kept: make it a field')
        if value is self.__dict__.get(name) and isinstance(value, (LoggedList, LoggedDict, Memory)):
            return  # What `memory.items += [...]` ends with: the list has written its own changes down.
        super().__setattr__(name, value)
        log.note('replace', path, self.__dict__[name])
        self.__dict__[name] = adopt(self.__dict__[name], log, path)

    def __delattr__(self, name: str) -> None:
        if self._log is not None:
            raise MemoryMisuse(f'{self._at}/{name} cannot be deleted: set it to its default')
        super().__delattr__(name)

    def apart(self) -> Self:
        """A copy that belongs to no run: what is written there is seen by nobody."""
        return type(self).model_validate(to_jsonable_python(self))


def adopt(value: Any, log: Log, path: str) -> Any:
    """Return `value` such that its changes are written to `log`, or raise `MemoryMisuse`."""
    if isinstance(value, Memory):
        # One that stands somewhere already would report its changes from two places as those of one.
        value = value if value._log is None else value.apart()
        value.attach(log, path)
        return value
    if isinstance(value, dict):
        return LoggedDict(value, log, path)
    if isinstance(value, list):
        return LoggedList(value, log, path)
    return frozen(value, path)


def frozen(value: Any, path: str) -> Any:
    """Return `value` if it cannot change in place; raises `MemoryMisuse` otherwise."""
    if isinstance(value, tuple):
        for item in value:
            frozen(item, path)
    elif _changeable(value):
        raise MemoryMisuse(f'{path} holds a {type(value).__name__}: use a tuple or a frozen record there')
    return value


def _changeable(value: Any) -> bool:
    if value is None or isinstance(value, (str, int, float)):
        return False
    if isinstance(value, BaseModel):
        return not value.model_config.get('frozen')
    if is_dataclass(value):
        return not getattr(type(value), '__dataclass_params__').frozen  # noqa: B009
    return isinstance(value, (list, dict, set, bytearray, deque))


class LoggedList(list[Any]):
    """A list that writes its changes down; appending costs the same however long it is."""

    __slots__ = ('_log', '_path')

    def __init__(self, items: Iterable[Any], log: Log, path: str) -> None:
        super().__init__(frozen(item, path) for item in items)
        self._log, self._path = log, path

    def append(self, item: Any) -> None:
        """Add an element at the end."""
        self._log.note('add', f'{self._path}/-', frozen(item, self._path))
        super().append(item)

    def extend(self, items: Iterable[Any]) -> None:
        """Add elements at the end."""
        for item in list(items):  # A copy: a list may be extended by itself.
            self.append(item)

    def insert(self, index: SupportsIndex, item: Any) -> None:
        """Add an element before `index`."""
        place = len(self[: index.__index__()])
        self._log.note('add', f'{self._path}/{place}', frozen(item, self._path))
        super().insert(place, item)

    def pop(self, index: SupportsIndex = -1) -> Any:
        """Take an element out."""
        place = range(len(self))[index.__index__()]
        self._log.note('remove', f'{self._path}/{place}')
        return super().pop(place)

    def remove(self, item: Any) -> None:
        """Take the first element equal to `item` out."""
        self.pop(self.index(item))

    def clear(self) -> None:
        """Take everything out."""
        self._replace([])

    def sort(self, **options: Any) -> None:
        """Order the elements."""
        self._replace(sorted(self, **options))

    def reverse(self) -> None:
        """Turn the order round."""
        self._replace(self[::-1])

    def __setitem__(self, index: Any, item: Any) -> None:
        if isinstance(index, slice):
            items = list(self)
            items[index] = [frozen(each, self._path) for each in item]
            self._replace(items)
            return
        place = range(len(self))[index]
        self._log.note('replace', f'{self._path}/{place}', frozen(item, self._path))
        super().__setitem__(place, item)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            items = list(self)
            del items[index]
            self._replace(items)
        else:
            self.pop(index)

    def __iadd__(self, items: Iterable[Any]) -> LoggedList:  # type: ignore[misc]
        self.extend(items)
        return self

    def __imul__(self, times: SupportsIndex) -> LoggedList:
        self._replace(list(self) * times.__index__())
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return list, (list(self),)  # A copy is a plain list.

    def _replace(self, items: list[Any]) -> None:
        self._log.note('replace', self._path, items)
        super().__setitem__(slice(None), items)


class LoggedDict(dict[Any, Any]):
    """A dict that writes its changes down; keys become strings in the journal."""

    __slots__ = ('_log', '_path')

    def __init__(self, items: Mapping[Any, Any], log: Log, path: str) -> None:
        super().__init__({key: adopt(value, log, f'{path}/{escape(key)}') for key, value in items.items()})
        self._log, self._path = log, path

    def __setitem__(self, key: Any, value: Any) -> None:
        path = f'{self._path}/{escape(key)}'
        self._log.note('add', path, value)
        super().__setitem__(key, adopt(value, self._log, path))

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        self._log.note('remove', f'{self._path}/{escape(key)}')
        super().__delitem__(key)

    def update(self, *others: Any, **named: Any) -> None:
        """Set several keys."""
        for key, value in dict(*others, **named).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of `key`, set to `default` if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        """Take a key out and return its value."""
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[Any, Any]:
        """Take the newest key out."""
        if not self:
            raise KeyError('the dictionary is empty')
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        """Take everything out."""
        for key in list(self):
            del self[key]

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return dict, (dict(self),)  # A copy is a plain dict.

    def __ior__(self, other: Any) -> LoggedDict:  # type: ignore[misc]
        self.update(other)
        return self
