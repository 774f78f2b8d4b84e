"""Memory: logs its own changes, so that the cost of a step depends on the changes, not on the size."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, Self, SupportsIndex
from weakref import ref

from pydantic import BaseModel, ConfigDict, PrivateAttr
from pydantic_core import to_jsonable_python
from typing_extensions import override

from engine.records import Change
from engine.records.document import escape_token

Capture = Callable[[Any], Callable[[], Any]]
"""Returns a function that copies the value later, as it is now."""


PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types of JSON values that cannot be changed."""


class MemoryMisuse(TypeError):
    """Memory was written outside an action, or holds something whose changes cannot be tracked."""


class ChangeLog:
    """Collects the changes to one run's data while open; rejects them otherwise."""

    __slots__ = ('changes', 'open')

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.open = False

    def note(self, op: Any, path: str, value: Any = None) -> None:
        """Log one change. Raises `MemoryMisuse` outside an action."""
        if not self.open:
            raise MemoryMisuse(f'{path or "/"} was written outside an action: only actions write memory')
        plain = value if type(value) in PLAIN else to_jsonable_python(value)
        self.changes.append(Change(op=op, path=path, value=plain))

    def drain(self) -> tuple[Change, ...]:
        """Return the changes since the last call."""
        changes, self.changes = tuple(self.changes), []
        return changes


class ChangeSink(Protocol):
    """Where changes are logged."""

    @property
    def open(self) -> bool:
        """Whether changes are allowed now."""

    def note(self, op: Any, path: str, value: Any = None) -> None:
        """Log one change. Raises `MemoryMisuse` outside an action."""


class Memory(BaseModel):
    """Base class of a run's memory.

    Fields hold scalars, frozen records, tuples of these, pydantic models (including other `Memory` objects),
    and lists and dicts of all of these. Mutable values are copied when put into memory: change the copies.
    """

    model_config = ConfigDict(extra='forbid', validate_assignment=True)

    # Not annotated, so that tools that treat annotations as fields (such as LangGraph) find only the fields.
    _log = PrivateAttr(None)
    _at = PrivateAttr('')

    def attach(self, log: ChangeSink, at: str) -> None:
        """Report changes to `log` from now on, under the JSON Pointer `at`."""
        for name in type(self).model_fields:
            self.__dict__[name] = track(self.__dict__[name], log, f'{at}/{name}')
        self._log, self._at = log, at

    def __setattr__(self, name: str, value: Any) -> None:
        # Not `self._log`: pydantic takes 40 times as long to look it up.
        private = self.__pydantic_private__
        log: ChangeSink | None = private['_log'] if private else None
        if private is None or log is None or name in ('_log', '_at'):
            super().__setattr__(name, value)
            return
        path = f'{private["_at"]}/{name}'
        if not log.open:
            raise MemoryMisuse(f'{path} was written outside an action: only actions write memory')
        if name.startswith('_'):
            raise MemoryMisuse(f'{path} is private and would not be kept: make it a field')
        if value is self.__dict__.get(name) and isinstance(value, (TrackedList, TrackedDict, Memory)):
            return  # The assignment that ends `memory.items += [...]`: the list has logged its own changes.
        super().__setattr__(name, value)
        log.note('replace', path, self.__dict__[name])
        self.__dict__[name] = track(self.__dict__[name], log, path)

    def __delattr__(self, name: str) -> None:
        if self._log is not None:
            raise MemoryMisuse(f'{self._at}/{name} cannot be deleted: set it to its default')
        super().__delattr__(name)

    def positions_differ(self) -> bool | None:
        """Whether the agents' latest positions differ, for breakpoints; None if they have taken none."""
        return None

    def detached_copy(self) -> Self:
        """Return a copy independent of any run: writes to it affect nothing else."""
        return type(self).model_validate(to_jsonable_python(self))


def track(value: Any, log: ChangeSink, path: str) -> Any:
    """Make changes to `value` appear in `log` and return it. Raises `MemoryMisuse`."""
    if type(value) in PLAIN:  # Nearly all are.
        return value
    if isinstance(value, Memory):
        # A value stored in two places would log the changes of both under one path.
        value = value if value._log is None else value.detached_copy()
        value.attach(log, path)
        return value
    if isinstance(value, dict):
        return TrackedDict(value, log, path)
    if isinstance(value, list):
        return TrackedList(value, log, path)
    if isinstance(value, BaseModel) and _changeable(value):
        tracked = _tracked_copy(value)
        tracked.attach(log, path)
        return tracked
    return require_frozen(value, path)


def _tracked_copy(value: BaseModel) -> Memory:
    """Return a copy of a plain model that can be attached."""
    cls = _tracked_class(type(value))
    copied = cls.__new__(cls)
    object.__setattr__(copied, '__dict__', dict(value.__dict__))
    object.__setattr__(copied, '__pydantic_fields_set__', set(value.model_fields_set))
    object.__setattr__(copied, '__pydantic_extra__', value.model_extra)
    private = {**(value.__pydantic_private__ or {}), '_log': None, '_at': ''}
    object.__setattr__(copied, '__pydantic_private__', private)
    return copied


@lru_cache(maxsize=1_000)
def _tracked_class(cls: type[BaseModel]) -> type[Memory]:
    """Return a subclass of a plain model whose instances log their changes."""
    config = ConfigDict(**{**cls.model_config, 'validate_assignment': True})

    def equal(record: BaseModel, other: object) -> bool:
        """Compare as the plain class does: equal fields of equal classes."""
        return isinstance(other, BaseModel) and (
            (_plain_class(record), record.__dict__) == (_plain_class(other), other.__dict__)
        )

    body = {'__module__': cls.__module__, '__qualname__': cls.__qualname__, '__doc__': cls.__doc__}
    named = body | {'model_config': config, '__eq__': equal, '__plain__': cls}
    meta: Any = type(cls)
    tracked: type[Memory] = meta(cls.__name__, (cls, Memory), named)
    return tracked


def _plain_class(value: BaseModel) -> type[BaseModel]:
    return getattr(type(value), '__plain__', type(value))


def require_frozen(value: Any, path: str) -> Any:
    """Return `value` if it is immutable; raise `MemoryMisuse` otherwise."""
    if isinstance(value, tuple):
        for item in value:
            require_frozen(item, path)
    elif _changeable(value):
        raise MemoryMisuse(
            f'{path} holds a {type(value).__name__}: use a list, a dict or a pydantic model there'
        )
    return value


def _changeable(value: Any) -> bool:
    if value is None or isinstance(value, (str, int, float)):
        return False
    if isinstance(value, BaseModel):
        return not value.model_config.get('frozen')
    if is_dataclass(value):
        return not getattr(type(value), '__dataclass_params__').frozen  # noqa: B009
    return isinstance(value, (list, dict, set, bytearray, deque))


class Shared:
    """A list or dict shared with copies: the live one as long as it only grows."""

    __slots__ = ('__weakref__', 'items')

    def __init__(self, items: Any) -> None:
        self.items = items


def _changes_inside(value: Any) -> bool:
    return isinstance(value, (TrackedList, TrackedDict, Memory))


class _ElementSink:
    """The log of a mutable list element; adds the index that the element has at the time of a change."""

    __slots__ = ('_index', '_owner', 'element')

    def __init__(self, owner: TrackedList) -> None:
        self._owner, self._index = owner, len(owner)
        self.element: Any = None

    @property
    def open(self) -> bool:
        """Whether changes are allowed now."""
        return self._owner.log.open

    def note(self, op: Any, path: str, value: Any = None) -> None:
        """Log a change inside the element, unless it has left the list."""
        owner = self._owner
        if not (self._index < len(owner) and owner[self._index] is self.element):
            indices = (index for index, item in enumerate(owner) if item is self.element)
            self._index = next(indices, len(owner))
        if self._index < len(owner):
            owner.log.note(op, f'{owner.path}/{self._index}{path}', value)
        elif not self.open:
            raise MemoryMisuse(f'{path or "/"} was written outside an action: only actions write memory')


class TrackedList(list[Any]):
    """A list that logs its changes; appending takes constant time at any length."""

    __slots__ = ('_deep', '_shared', 'log', 'path')

    def __init__(self, items: Iterable[Any], log: ChangeSink, path: str) -> None:
        super().__init__()
        self.log, self.path, self._deep = log, path, False
        self._shared: ref[Shared] | None = None
        for item in items:
            super().append(self._adopt(item))

    def _adopt(self, item: Any) -> Any:
        """Return the item as an element: a tracked copy if it is mutable."""
        if not isinstance(item, (list, dict, BaseModel)) or not _changeable(item):
            return require_frozen(item, self.path)
        log = _ElementSink(self)
        log.element = track(item, log, '')
        self._deep = True
        return log.element

    def share(self, capture: Capture) -> Callable[[], list[Any]]:
        """Return a function that copies this list later, as it is now.

        Nothing is copied until it is called or the list changes, except for mutable elements.
        """
        if self._deep:
            parts = [capture(item) for item in self]
            return lambda: [copy() for copy in parts]
        shared = self._shared() if self._shared else None
        if shared is None:
            shared = Shared(self)
            self._shared = ref(shared)
        length = len(self)
        return lambda: list(islice(shared.items, length))

    def _unshare(self) -> None:
        """Give those who share this list a copy: it is about to change in other ways than growing."""
        if self._shared and (shared := self._shared()):
            shared.items = list(self)
        self._shared = None

    @override
    def append(self, item: Any) -> None:
        item = self._adopt(item)
        self.log.note('add', f'{self.path}/-', item)
        super().append(item)

    def extend(self, items: Iterable[Any]) -> None:
        """Append several elements."""
        for item in list(items):  # A copy: a list may be extended with itself.
            self.append(item)

    def insert(self, index: SupportsIndex, item: Any) -> None:
        """Insert an element before `index`."""
        place, item = len(self[: index.__index__()]), self._adopt(item)
        self.log.note('add', f'{self.path}/{place}', item)
        self._unshare()
        super().insert(place, item)

    def pop(self, index: SupportsIndex = -1) -> Any:
        """Remove and return the element at `index`."""
        place = range(len(self))[index.__index__()]
        self.log.note('remove', f'{self.path}/{place}')
        self._unshare()
        return super().pop(place)

    def remove(self, item: Any) -> None:
        """Remove the first element equal to `item`."""
        self.pop(self.index(item))

    def clear(self) -> None:
        """Remove all elements."""
        self._replace([])

    @override
    def sort(self, **options: Any) -> None:
        self._replace(sorted(self, **options))

    @override
    def reverse(self) -> None:
        self._replace(self[::-1])

    def __setitem__(self, index: Any, item: Any) -> None:
        if isinstance(index, slice):
            items = list(self)
            items[index] = [self._adopt(each) for each in item]
            self._replace(items)
            return
        place, item = range(len(self))[index], self._adopt(item)
        self.log.note('replace', f'{self.path}/{place}', item)
        self._unshare()
        super().__setitem__(place, item)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            items = list(self)
            del items[index]
            self._replace(items)
        else:
            self.pop(index)

    def __iadd__(self, items: Iterable[Any]) -> TrackedList:  # type: ignore[misc]
        self.extend(items)
        return self

    def __imul__(self, times: SupportsIndex) -> TrackedList:
        more = [self._adopt(item) for item in list(self) * (times.__index__() - 1)]
        self._replace([*self, *more] if times.__index__() > 0 else [])
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return list, (list(self),)  # A copy is a plain list.

    def _replace(self, items: list[Any]) -> None:
        self.log.note('replace', self.path, items)
        self._unshare()
        super().__setitem__(slice(None), items)


class TrackedDict(dict[Any, Any]):
    """A dict that logs its changes; keys become strings in the journal."""

    __slots__ = ('_deep', '_log', '_path', '_shared')

    def __init__(self, items: Mapping[Any, Any], log: ChangeSink, path: str) -> None:
        super().__init__(
            {key: track(value, log, f'{path}/{escape_token(key)}') for key, value in items.items()}
        )
        self._log, self._path = log, path
        self._deep = any(map(_changes_inside, self.values()))
        self._shared: ref[Shared] | None = None

    def share(self, capture: Capture) -> Callable[[], dict[Any, Any]]:
        """Return a function that copies this dict later, as it is now; captures mutable values now."""
        if self._deep:
            parts = {key: capture(value) for key, value in self.items()}
            return lambda: {key: copy() for key, copy in parts.items()}
        shared = self._shared() if self._shared else None
        if shared is None:
            shared = Shared(self)
            self._shared = ref(shared)
        length = len(self)
        return lambda: dict(islice(shared.items.items(), length))

    def _unshare(self) -> None:
        """Give those who share this dict a copy."""
        if self._shared and (shared := self._shared()):
            shared.items = dict(self)
        self._shared = None

    def __setitem__(self, key: Any, value: Any) -> None:
        path = f'{self._path}/{escape_token(key)}'
        self._log.note('add', path, value)
        if key in self:
            self._unshare()
        adopted = track(value, self._log, path)
        self._deep = self._deep or _changes_inside(adopted)
        super().__setitem__(key, adopted)

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        self._log.note('remove', f'{self._path}/{escape_token(key)}')
        self._unshare()
        super().__delitem__(key)

    def update(self, *others: Any, **named: Any) -> None:
        """Set several keys."""
        for key, value in dict(*others, **named).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of `key`, set to `default` if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove a key and return its value."""
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[Any, Any]:
        """Remove and return the newest item."""
        if not self:
            raise KeyError('the dictionary is empty')
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all keys."""
        for key in list(self):
            del self[key]

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return dict, (dict(self),)  # A copy is a plain dict.

    def __ior__(self, other: Any) -> TrackedDict:  # type: ignore[misc]
        self.update(other)
        return self
