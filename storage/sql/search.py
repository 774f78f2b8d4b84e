"""The full-text index of what people wrote about runs, updated in the transaction of each change.

The code that writes updates it, not triggers, because a run's text comes from three tables.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from engine.records import RunInfo
from storage.sql.dialects import HasWords, forget_words, index_words
from storage.sql.rows import LAUNCH, NOTE, RUN, TAG

WORD = re.compile(r'[^\W_]+')
"""Letters and digits, split like FTS5's own tokenizer."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, however its accents are encoded."""
    return WORD.findall(unicodedata.normalize('NFC', text))


def text_filters(text: str) -> list[ColumnElement[bool]]:
    """Return the condition for typed text: each of its words must be a prefix of a word of the run.

    No character can act as an operator. Text without a letter or digit matches every run.
    """
    words = words_of(text)
    return [HasWords(words)] if words else []


def index(connection: Connection, number: int) -> None:
    """Rebuild one run's index row from the tables."""
    columns = (RUN.c.title, RUN.c.note, RUN.c.pattern, LAUNCH.c.parameters)
    of_run = select(*columns).join(LAUNCH, LAUNCH.c.run == RUN.c.number).where(RUN.c.number == number)
    row = connection.execute(of_run).one()
    tags = connection.execute(select(TAG.c.label).where(TAG.c.run == number)).scalars()
    notes = connection.execute(select(NOTE.c.text).where(NOTE.c.run == number)).scalars()
    forget_words(connection, number)
    texts = _columns(row.title, '\n'.join((row.note, *notes)), row.parameters, tuple(tags), row.pattern)
    index_words(connection, number, texts, words_of)


def index_new(connection: Connection, number: int, info: RunInfo, parameters: str) -> None:
    """Index a run that was just inserted, without reading it back; `parameters` as they are stored."""
    texts = _columns(info.title, info.note, parameters, info.tags, info.pattern)
    index_words(connection, number, texts, words_of)


def _columns(title: str, notes: str, parameters: str, tags: Sequence[str], pattern: str) -> dict[str, str]:
    """Return what people wrote about a run, by the index's columns."""
    return {
        'title': title,
        'note': notes,
        'parameters': '\n'.join(_texts(_parse(parameters))),
        'tags': '\n'.join(tags),
        'pattern': pattern,
    }


def _parse(parameters: str) -> Any:
    try:
        return json.loads(parameters)
    except ValueError:  # damaged: the run cannot be read, but still be annotated and deleted
        return parameters


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        # A lone surrogate cannot be encoded; it would make the whole run fail.
        yield str(value).encode('utf-8', 'replace').decode()
