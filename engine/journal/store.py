"""Store: records of one kind as documents, written once for all that keep their records with the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Generic, TypeVar

from pydantic import TypeAdapter

from engine.journal.documents import Documents, Entry, EntryQuery
from engine.records.jsonable import refuse_nul

T = TypeVar('T')


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The names of the record's fields that an entry holds outside its body; '' for none."""

    key: str = 'id'
    state: str = ''
    rank: str = ''
    about: str = ''
    version: str = ''

    def named(self) -> dict[str, str]:
        """Return the fields by column."""
        return {column: name for column, name in asdict(self).items() if name}


KEY_ONLY: Final = Columns()


class Store(Generic[T]):
    """The records of one kind. Every method may raise `JournalError`.

    Args:
        documents: where they are stored.
        kind: the kind of their entries.
        record: the dataclass.
        unknown: makes the error for a key that no record has.
        columns: the fields outside the body.
    """

    def __init__(
        self,
        documents: Documents,
        kind: str,
        record: type[T],
        unknown: Callable[[str], Exception],
        columns: Columns = KEY_ONLY,
    ) -> None:
        self.documents, self.kind = documents, kind
        self._adapter: TypeAdapter[T] = TypeAdapter(record)
        self._unknown, self._columns = unknown, columns.named()

    def entry_of(self, item: T) -> Entry:
        """Return a record as an entry. Raises `InvalidInput`."""
        values: dict[str, Any] = asdict(item)  # type: ignore[call-overload]  # A type variable cannot say that.
        refuse_nul(values)
        columns = {column: values.pop(name) for column, name in self._columns.items()}
        return Entry(kind=self.kind, body=values, **columns)

    def item_of(self, entry: Entry) -> T:
        """Return the record of an entry."""
        columns = {name: getattr(entry, column) for column, name in self._columns.items()}
        return self._adapter.validate_python({**entry.body, **columns})

    async def list(self, **query: Any) -> list[T]:
        """Return the records that match; `query` holds fields of `EntryQuery`."""
        entries = await self.documents.find(EntryQuery(kind=self.kind, **query))
        return [self.item_of(entry) for entry in entries]

    async def find(self, key: str) -> T | None:
        """Return the record with this key, or None."""
        entry = await self.documents.get(self.kind, key)
        return None if entry is None else self.item_of(entry)

    async def get(self, key: str) -> T:
        """Return the record with this key, or raise the error for an unknown one."""
        return self.item_of(await self.read(key))

    async def read(self, key: str) -> Entry:
        """Return the entry with this key, or raise the error for an unknown one."""
        entry = await self.documents.get(self.kind, key)
        if entry is None:
            raise self._unknown(key)
        return entry

    async def write(self, written: Sequence[T] = (), deleted: Sequence[T] = ()) -> None:
        """Write and delete records, all or none. Raises `EntryChanged`."""
        await self.documents.write([*map(self.entry_of, written)], [*map(self.entry_of, deleted)])

    async def change(self, key: str, edit: Callable[[T], T]) -> T:
        """Replace a record by what `edit` makes of it.

        Raises:
            EntryChanged: it was changed meanwhile.
        """
        entry = await self.read(key)
        changed = edit(self.item_of(entry))
        await self.documents.write([replace(self.entry_of(changed), version=entry.version)])
        return changed

    async def remove(self, key: str) -> None:
        """Delete the record with this key, or raise the error for an unknown one."""
        await self.documents.write([], [await self.read(key)])
