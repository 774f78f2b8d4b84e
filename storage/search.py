"""The full-text index over what people wrote of runs, kept in the transaction of the change.

The writer keeps it rather than triggers, because a run's text comes from three tables.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

WORD = re.compile(r'[^\W_]+')
"""Letters and digits, as FTS5's own tokenizer splits."""


def matching(text: str) -> str:
    """What a person typed as an FTS5 expression: every word is the beginning of some word of the run.

    No character of the text can act as an operator. Text without a letter or digit gives '': no restriction.
    """
    return ' AND '.join(f'"{word}"*' for word in WORD.findall(text))


def index(connection: sqlite3.Connection, number: int) -> None:
    """Write the index's row of one run anew, from its present tables."""
    connection.execute('DELETE FROM search WHERE rowid = ?', (number,))
    title, note, pattern, parameters, tags, notes = connection.execute(
        'SELECT title, note, pattern, parameters,'
        ' (SELECT group_concat(label, char(10)) FROM tag WHERE run = number),'
        ' (SELECT group_concat(text, char(10)) FROM note WHERE run = number)'
        ' FROM run JOIN launch ON run = number WHERE number = ?',
        (number,),
    ).fetchone()
    connection.execute(
        'INSERT INTO search (rowid, title, note, parameters, tags, pattern) VALUES (?, ?, ?, ?, ?, ?)',
        (
            number,
            title,
            f'{note}\n{notes or ""}',
            '\n'.join(_texts(json.loads(parameters))),
            tags or '',
            pattern,
        ),
    )


def index_all(connection: sqlite3.Connection) -> None:
    """Index every run."""
    for (number,) in connection.execute('SELECT number FROM run').fetchall():
        index(connection, number)


def forget(connection: sqlite3.Connection, number: int) -> None:
    """Take a run out of the index."""
    connection.execute('DELETE FROM search WHERE rowid = ?', (number,))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        # Half of a surrogate pair has no bytes; it would refuse the whole run.
        yield str(value).encode('utf-8', 'replace').decode()
