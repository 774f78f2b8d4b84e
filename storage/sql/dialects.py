"""Differences between the SQL of SQLite and PostgreSQL: integers, lists in a row, the search index."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Connection,
    Dialect,
    Integer,
    Text,
    TextClause,
    TypeDecorator,
    bindparam,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

Int64 = BigInteger().with_variant(Integer(), 'sqlite')
"""A 64-bit integer; in SQLite, every integer is one."""


class _Labels(TypeDecorator[tuple[str, ...]]):
    """Converts the column that `Labels` selects to a tuple."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return dialect.type_descriptor(ARRAY(Text()) if dialect.name == 'postgresql' else Text())

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[str, ...]:
        if dialect.name == 'postgresql':
            return tuple(value)
        return tuple(label for _, label in sorted(json.loads(value)))


class Labels(FunctionElement[tuple[str, ...]]):
    """A run's tags, in order, as one column of a query on `run`."""

    type = _Labels()
    inherit_cache = True


@compiles(Labels, 'sqlite')
def _labels_as_json(element: Labels, compiler: SQLCompiler, **options: Any) -> str:
    return '(SELECT json_group_array(json_array(position, label)) FROM tag WHERE tag.run = run.number)'


@compiles(Labels, 'postgresql')
def _labels_as_array(element: Labels, compiler: SQLCompiler, **options: Any) -> str:
    return 'ARRAY(SELECT label FROM tag WHERE tag.run = run.number ORDER BY position)'


class _Prefixes(TypeDecorator[Sequence[str]]):
    """Words as a search expression. They consist of letters and digits, so none can act as an operator."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> str:
        words = value or ()
        if dialect.name == 'postgresql':
            return ' & '.join(f"'{word}':*" for word in map(_fold, words) if word)
        return ' AND '.join(f'"{word}"*' for word in words)


class HasWords(FunctionElement[bool]):
    """The condition, in a query on `run`, that each word is a prefix of a word people wrote about the run."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(bindparam('words', tuple(words), type_=_Prefixes(), unique=True))


@compiles(HasWords, 'sqlite')
def _matches(element: HasWords, compiler: SQLCompiler, **options: Any) -> str:
    words = compiler.process(element.clauses, **options)
    return f'run.number IN (SELECT rowid FROM search WHERE search MATCH {words})'


@compiles(HasWords, 'postgresql')
def _matches_vector(element: HasWords, compiler: SQLCompiler, **options: Any) -> str:
    words = compiler.process(element.clauses, **options)
    return f'run.number IN (SELECT search.run FROM search WHERE search.words @@ CAST({words} AS tsquery))'


MAX_INDEXED_WORD, MAX_INDEXED_TEXT = 250, 500_000
"""Maximum characters that PostgreSQL's index accepts in one word, and in all words of a run."""


def index_words(
    connection: Connection, number: int, texts: Mapping[str, str], split: Callable[[str], Iterable[str]]
) -> None:
    """Insert a run's row into the search index.

    Args:
        connection: the connection to write on.
        number: the run's key.
        texts: what people wrote about it, by the index's columns.
        split: splits a string into words, for a database that does not tokenize.
    """
    if connection.dialect.name == 'postgresql':
        folded = {_fold(word) for content in texts.values() for word in split(content)}
        words, room = list[str](), MAX_INDEXED_TEXT
        for word in sorted(folded - {''}):
            room -= len(word)
            if room > 0:
                words.append(word)
        query = text('INSERT INTO search (run, words) VALUES (:run, array_to_tsvector(:words))')
        connection.execute(
            query.bindparams(bindparam('words', type_=ARRAY(Text()))), {'run': number, 'words': words}
        )
    else:
        connection.execute(_insert_words(tuple(texts)), {'run': number, **texts})


@cache
def _insert_words(columns: tuple[str, ...]) -> TextClause:
    """Return SQLite's statement, the same each time, so that SQLAlchemy keeps what it makes of it."""
    values = ', '.join(f':{column}' for column in columns)
    return text(f'INSERT INTO search (rowid, {", ".join(columns)}) VALUES (:run, {values})')


def forget_words(connection: Connection, number: int) -> None:
    """Remove a run's row from the search index."""
    key = 'run' if connection.dialect.name == 'postgresql' else 'rowid'
    connection.execute(text(f'DELETE FROM search WHERE {key} = :run'), {'run': number})


def _fold(word: str) -> str:
    """Return a word as SQLite's index compares it: in lower case, without accents."""
    apart = unicodedata.normalize('NFD', word.lower())
    return ''.join(letter for letter in apart if not unicodedata.combining(letter))[:MAX_INDEXED_WORD]
