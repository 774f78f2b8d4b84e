"""The hottest statements as SQL text, compiled once from the SQLModel tables.

SQLAlchemy's execution takes several times as long as the insert itself, so appends pass these to the driver.
Parameters are in table order.
"""

from __future__ import annotations

from sqlalchemy import Executable, bindparam, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.elements import ClauseElement

from storage.rows import RUN, STEP, STORED, USAGE


def _text(statement: ClauseElement | Executable) -> str:
    assert isinstance(statement, ClauseElement)
    return str(statement.compile(dialect=sqlite.dialect(paramstyle='qmark')))


INSERT_STEP = _text(insert(STEP))
INSERT_SNAPSHOT = _text(insert(STORED).prefix_with('OR REPLACE'))

EPOCH = _text(select(RUN.c.epoch).where(RUN.c.id == bindparam('id')))
_ADVANCE = (
    update(RUN)
    .where(RUN.c.id == bindparam('key'), RUN.c.epoch == bindparam('owned'), RUN.c.seq == bindparam('before'))
    .values({name: bindparam(name) for name in ('updated', 'seq', *USAGE)})
    .values(bytes=RUN.c.bytes + bindparam('more'))
)
ADVANCE = _text(_ADVANCE.returning(RUN.c.number, RUN.c.status, RUN.c.error, RUN.c.waiting, RUN.c.budget))
"""Updates columns that every append changes, none of them indexed. No row if epoch or step mismatch."""
ADVANCE_KNOWN = _text(_ADVANCE.where(RUN.c.number == bindparam('known')))
"""The same for a known number: finds the row by it, and returns nothing."""
UPDATE_STATUS = _text(
    update(RUN)
    .where(RUN.c.number == bindparam('key'))
    .values({name: bindparam(name) for name in ('status', 'error', 'waiting', 'budget')})
)
"""Updates columns that only some appends change."""
