"""What bundles hold of experiments: the kinds of documents, and the records that they have to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from engine.errors import InvalidInput
from engine.history.bundle.documents import Document
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.library import DatasetInfo
from engine.operations.experiments.records import Cell, Experiment, Mark
from engine.records.jsonable import refuse_nul


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChunk:
    """Some cases of the dataset's version, in order."""

    cases: tuple[Case, ...]


Record = DatasetInfo | CaseChunk | Experiment | Cell | Mark
KINDS: Final[Mapping[str, type[Record]]] = {
    'dataset': DatasetInfo,
    'dataset-cases': CaseChunk,
    'experiment': Experiment,
    'experiment-cell': Cell,
    'experiment-mark': Mark,
}
"""The records by kind, in the order in which a bundle has them: what a record names comes before it."""
ADAPTERS: Final[Mapping[str, TypeAdapter[Record]]] = {
    kind: TypeAdapter(record) for kind, record in KINDS.items()
}
KIND_OF: Final = {record: kind for kind, record in KINDS.items()}


def to_document(key: str, record: Record) -> Document:
    """Return a record as a document."""
    kind = KIND_OF[type(record)]
    return Document(kind=kind, key=key, value=ADAPTERS[kind].dump_python(record, mode='json'))


def to_record(document: Document) -> Record:
    """Return the record of a document of one of these kinds. Raises `InvalidInput`, which names the field."""
    adapter = ADAPTERS.get(document.kind)
    if adapter is None:
        raise InvalidInput({'': f'there is no kind {document.kind!r}; there are: {", ".join(KINDS)}'})
    refuse_nul(document.value)
    try:
        return adapter.validate_json(to_json(document.value), strict=True, extra='forbid')
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidInput({'.'.join(map(str, first['loc'])): first['msg']}) from None


def json_of(experiment: Experiment) -> dict[str, Any]:
    """Return an experiment as JSON values, which are equal if what is compared and how is equal."""
    shown: dict[str, Any] = ADAPTERS['experiment'].dump_python(experiment, mode='json')
    return shown
