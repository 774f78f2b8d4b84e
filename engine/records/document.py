"""A run's data as plain JSON: takes recorded changes (JSON Patch), and reads long lists on demand.

A snapshot has only what is new of a long list; the items before are in the earlier snapshots of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from engine.errors import JournalDamaged
from engine.records.events import Change, Snapshot
from engine.records.json_pointer import split_pointer

Fresh = dict[int, Any]
"""Lists and dicts that nobody else has yet, by identity: these may be written in place."""


def apply_patch(
    document: Mapping[str, Any], changes: Iterable[Change], fresh: Fresh | None = None
) -> dict[str, Any]:
    """A document with recorded changes applied; it shares all unchanged parts with the old one.

    So a fold can be kept, rewound and continued without copying the run's whole memory: a change copies only
    the path down to it, not its siblings.

    Args:
        document: stays as it is, except for its fresh parts.
        changes: what was recorded.
        fresh: the copies made so far, and those that this call makes. Many steps in a row copy a list once,
            and not at each step, if nobody is given a document between them.

    Raises:
        KeyError, IndexError, ValueError, TypeError: not the document the changes were recorded on.
    """
    found, fresh = dict(document), {} if fresh is None else fresh
    for change in changes:
        parts = split_pointer(change.path)
        last = parts.pop()
        target: Any = found
        for depth, part in enumerate(parts, 2):
            target = _copy_on_write(target, part, fresh)
            if isinstance(target, LongList):
                target.change(change, '/' + change.path.split('/', depth)[depth])
                break
        else:
            _write(target, last, change)
    return found


def _copy_on_write(target: Any, part: str, fresh: Fresh) -> Any:
    """The value at one part of a pointer if it is fresh, or a copy of it, stored in its parent."""
    key: Any = int(part) if isinstance(target, list) else part
    inner = target[key]
    if id(inner) in fresh:
        return inner
    copied: Any
    if isinstance(inner, list):
        copied = list(inner)
    elif isinstance(inner, Mapping):
        copied = dict(inner)
    elif isinstance(inner, LongList):
        copied = inner.copy()
    else:
        raise TypeError(f'{part} contains no other values')
    target[key] = fresh[id(copied)] = copied
    return copied


def _write(target: Any, last: str, change: Change) -> None:
    if not isinstance(target, list):
        if change.op == 'remove':
            del target[last]
        else:
            target[last] = change.value
    elif change.op == 'remove':
        del target[int(last)]
    elif change.op == 'replace':
        target[int(last)] = change.value
    elif last == '-':
        target.append(change.value)
    else:
        target.insert(int(last), change.value)


def deep_copy(value: Any) -> Any:
    """A copy of a JSON value, so that the recorded one, which is shared, stays unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: deep_copy(item) for key, item in value.items()}
    return [deep_copy(item) for item in value] if isinstance(value, list) else value


LONG = 500
"""Items from which a list is long."""
TAILS = 'tails'
"""In a snapshot's state: by field of memory, the index from which its long list is in this snapshot, and the
items from there on. The items before are in earlier snapshots of the run."""

Read = Callable[[], list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialSnapshot(Snapshot):
    """A snapshot that has only the ends of long lists."""

    lists: Mapping[str, Read] = field(compare=False, repr=False)
    """By field of memory: reads the whole list."""


class LongList:
    """A long list in a document: how its items are read, and what was changed since."""

    __slots__ = ('_changes', '_items', '_read', 'kept')

    def __init__(self, read: Read, kept: int) -> None:
        self._read = read
        self._items: list[Any] | None = None
        self._changes: Any = None
        """The latest change, after a pair like this one: so a document costs what was changed."""
        self.kept = kept
        """How many items at the beginning are as the snapshot has them."""

    def copy(self) -> LongList | list[Any]:
        """One to be changed, without reading; a plain list once the items were read."""
        if self._items is not None:
            return list(self._items)
        made = LongList(self._read, self.kept)
        made._changes = self._changes
        return made

    def change(self, change: Change, inside: str) -> None:
        """Note a change to what is at the pointer `inside` the list."""
        noted = Change(op=change.op, path=f'/items{inside}', value=change.value)
        self.kept = count_kept(self.kept, inside.split('/', 2)[1])
        self._changes = self._changes, noted

    def items(self) -> list[Any]:
        """Read the items. Blocks. Raises `JournalError`."""
        if self._items is None:
            changes, rest = [], self._changes
            while rest is not None:
                rest, latest = rest
                changes.append(latest)
            self._items = apply_patch({'items': self._read()}, reversed(changes))['items']
        return self._items


class LongMemory(Mapping[str, Any]):
    """Memory in which a long list is read when its field is asked for."""

    __slots__ = ('_fields',)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> Any:
        value = self._fields[name]
        return value.items() if isinstance(value, LongList) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __repr__(self) -> str:
        return repr(dict(self))

    def __deepcopy__(self, seen: dict[int, Any]) -> dict[str, Any]:
        return deepcopy(dict(self), seen)


def count_kept(kept: int, place: str) -> int:
    """How many of `kept` items at a list's beginning stay as they are after a change at `place`."""
    return kept if place == '-' else min(kept, int(place))


def lower_kept(kept: dict[str, int], changes: Iterable[Change]) -> None:
    """Update, by field of memory, how many items of long lists are as the latest snapshot has them."""
    for change in changes:
        _, *parts = change.path.split('/')
        if len(parts) > 1 and parts[0] == 'memory' and (name := parts[1]) in kept:
            kept[name] = count_kept(kept[name], parts[2]) if len(parts) > 2 else 0


def long_lists(snapshot: Snapshot) -> dict[str, int]:
    """The lengths of the long lists in a snapshot, by field of memory."""
    return {name: start + len(items) for name, (start, items) in snapshot.state.get(TAILS, {}).items()}


def join_tails(field: str, snapshots: Iterable[Snapshot]) -> list[Any]:
    """A long list of memory.

    Args:
        field: its name.
        snapshots: that in which it is read and the earlier ones of the run, newest first; as many are taken
            as are needed.

    Raises:
        JournalDamaged: they do not hold all of it.
    """
    parts: list[list[Any]] = []
    end: int | None = None
    for snapshot in snapshots:
        tail = snapshot.state.get(TAILS, {}).get(field)
        start, items = tail or (0, snapshot.state['document']['memory'].get(field, []))
        if end is None or start < end:
            parts.append(items if end is None else items[: end - start])
            if end is not None and start + len(items) < end:
                break
            end = start
        if not end:
            return [item for part in reversed(parts) for item in part]
    raise JournalDamaged(f'{field} of memory cannot be read: an earlier snapshot of the run is missing')


def complete_snapshot(snapshot: Snapshot) -> Snapshot:
    """The snapshot with its long lists in its document. Blocks. Raises `JournalError`."""
    if not isinstance(snapshot, PartialSnapshot):
        return snapshot
    state = {name: value for name, value in snapshot.state.items() if name != TAILS}
    lists = {name: read() for name, read in snapshot.lists.items()}
    document = state['document']
    state['document'] = {**document, 'memory': {**document['memory'], **lists}}
    return Snapshot(run=snapshot.run, seq=snapshot.seq, state=state)
