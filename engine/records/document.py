"""A run's data as plain JSON: applies recorded changes (JSON Patch), and reads long lists on demand.

A snapshot has only the new items of a long list; those before are in the run's earlier snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_jsonable_python

from engine.errors import JournalDamaged
from engine.records.events import Change, Snapshot

LONG = 500
"""Number of items from which a list counts as long."""
TAILS = 'tails'
"""In a snapshot's state: by memory field, the index from which the snapshot has the items of a long list, and
these items. Those before are in earlier snapshots of the run."""


def escape_token(key: Any) -> str:
    """Escape a dictionary key for use as one token of a pointer."""
    text = key if isinstance(key, str) else next(iter(to_jsonable_python({key: None})))
    return str(text).replace('~', '~0').replace('/', '~1')


def split_pointer(pointer: str) -> list[str]:
    """Return the pointer's tokens, unescaped; none for the whole document."""
    parts = pointer.split('/')[1:]
    return [part.replace('~1', '/').replace('~0', '~') for part in parts] if '~' in pointer else parts


def resolve_pointer(document: Any, parts: Iterable[str], missing: Any = None) -> Any:
    """Return the value at the pointer's tokens, or `missing` if there is none."""
    for part in parts:
        try:
            document = document[int(part)] if isinstance(document, list) else document[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return missing
    return document


Fresh = dict[int, Any]
"""Lists and dicts not shared with anyone yet, by identity: these may be modified in place."""


def apply_patch(
    document: Mapping[str, Any], changes: Iterable[Change], fresh: Fresh | None = None
) -> dict[str, Any]:
    """Return a document with recorded changes applied; it shares all unchanged parts with the old one.

    A fold can therefore be kept, rewound and continued without copying the run's whole memory: a change
    copies only the path down to it, not its siblings.

    Args:
        document: stays unchanged, except for its fresh parts.
        changes: the recorded changes.
        fresh: the copies made so far; this call adds its own. Many steps in a row copy a list once instead of
            at each step, if the documents in between are not shared.

    Raises:
        KeyError, IndexError, ValueError, TypeError: not the document the changes were recorded on.
    """
    patched, fresh = dict(document), {} if fresh is None else fresh
    for change in changes:
        parts = split_pointer(change.path)
        last = parts.pop()
        target: Any = patched
        for depth, part in enumerate(parts, 2):
            target = _copy_on_write(target, part, fresh)
            if isinstance(target, LongList):
                target.change(change, '/' + change.path.split('/', depth)[depth])
                break
        else:
            _write(target, last, change)
    return patched


def _copy_on_write(target: Any, part: str, fresh: Fresh) -> Any:
    """Return the value at one part of a pointer: itself if fresh, otherwise a copy stored in its parent."""
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
    """Return a copy of a JSON value, so that the recorded one, which is shared, stays unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: deep_copy(item) for key, item in value.items()}
    return [deep_copy(item) for item in value] if isinstance(value, list) else value


Read = Callable[[], list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialSnapshot(Snapshot):
    """A snapshot that has only the tails of long lists."""

    lists: Mapping[str, Read] = field(compare=False, repr=False)
    """By memory field: reads the whole list."""


class LongList:
    """A long list in a document: how to read its items, and the changes since."""

    __slots__ = ('_changes', '_items', '_read', 'unchanged')

    def __init__(self, read: Read, unchanged: int) -> None:
        self._read = read
        self._items: list[Any] | None = None
        self._changes: Any = None
        """The changes as a linked list, the latest outermost, so that copies share the earlier ones."""
        self.unchanged = unchanged
        """How many leading items are as in the snapshot."""

    def copy(self) -> LongList | list[Any]:
        """Return a copy to be changed, without reading the items; a plain list if they have been read."""
        if self._items is not None:
            return list(self._items)
        copied = LongList(self._read, self.unchanged)
        copied._changes = self._changes
        return copied

    def change(self, change: Change, inside: str) -> None:
        """Record a change at the pointer `inside` the list."""
        noted = Change(op=change.op, path=f'/items{inside}', value=change.value)
        self.unchanged = count_unchanged(self.unchanged, inside.split('/', 2)[1])
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
    """Memory in which a long list is read when its field is accessed."""

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


def count_unchanged(unchanged: int, place: str) -> int:
    """Return how many of the `unchanged` leading items of a list stay unchanged by a change at `place`."""
    return unchanged if place == '-' else min(unchanged, int(place))


def update_unchanged(unchanged: dict[str, int], changes: Iterable[Change]) -> None:
    """Update, by memory field, how many leading items of long lists are as in the latest snapshot."""
    for change in changes:
        _, *parts = change.path.split('/')
        if len(parts) > 1 and parts[0] == 'memory' and (name := parts[1]) in unchanged:
            unchanged[name] = count_unchanged(unchanged[name], parts[2]) if len(parts) > 2 else 0


def long_lists(snapshot: Snapshot) -> dict[str, int]:
    """Return the lengths of the long lists in a snapshot, by memory field."""
    return {name: start + len(items) for name, (start, items) in snapshot.state.get(TAILS, {}).items()}


def join_tails(field: str, snapshots: Iterable[Snapshot]) -> list[Any]:
    """Return a long list of memory, joined from its parts in several snapshots.

    Args:
        field: its name.
        snapshots: the snapshot to read and the run's earlier ones, newest first; consumed only as far as
            needed.

    Raises:
        JournalDamaged: a part is missing.
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
    """Return the snapshot with its long lists in its document. Blocks. Raises `JournalError`."""
    if not isinstance(snapshot, PartialSnapshot):
        return snapshot
    state = {name: value for name, value in snapshot.state.items() if name != TAILS}
    lists = {name: read() for name, read in snapshot.lists.items()}
    document = state['document']
    state['document'] = {**document, 'memory': {**document['memory'], **lists}}
    return Snapshot(run=snapshot.run, seq=snapshot.seq, state=state)
