"""What a bundle holds besides runs: documents of kinds that only those know who store them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from engine.journal.documents import Entry
from engine.records import RunId, RunInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A record that belongs to the runs of a bundle."""

    kind: str
    key: str
    """Unique within its kind."""
    value: Mapping[str, Any]
    """JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A run or a record of a bundle, and the outcome of importing it."""

    kind: str = 'run'
    """`run`, or what the record is, such as `experiment`."""
    id: str
    """Its id here."""
    origin: str
    """Its id in the bundle."""
    title: str
    outcome: Literal['new', 'renamed', 'known']
    """Imported under its own id, under a new id because the old one was taken, or already here."""
    closed: bool = False
    """Whether it was unfinished. If so, it is cancelled here and says why."""
    hidden: int = 0
    """Number of texts in the file from which a secret was removed on export."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDocuments:
    """Documents as they are to be stored here."""

    entries: Iterable[Entry] = ()
    """Iterated once, in a thread."""
    imported: tuple[Imported, ...] = ()
    """What to say of them."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags of the bundle's runs that are to be replaced, because what they name has another id here."""


class DocumentImport(Protocol):
    """Takes the documents of one bundle, whose origin is not trusted."""

    def check(self, document: Document) -> None:
        """Check the next document, in a thread.

        Raises:
            InvalidInput: names fields of its value; '' is the whole document.
        """

    def finish(self) -> None:
        """Check that there are all that belong together. Raises `InvalidInput`."""

    async def prepare(
        self, documents: Iterable[Document], runs: Mapping[RunId, RunInfo], exported: float
    ) -> PreparedDocuments:
        """Decide what is stored of the documents, all of which have been checked.

        Args:
            documents: in the order of the file; iterated once, by who iterates over the entries.
            runs: what is imported of the bundle's runs, by their ids in it; they have their ids here.
            exported: when the bundle was written.
        """


class DocumentKinds(Protocol):
    """Knows the kinds of documents that bundles may hold."""

    def begin(self) -> DocumentImport:
        """Begin to take the documents of a bundle."""
