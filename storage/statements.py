"""The statements of the writer as SQL text, compiled once from the SQLModel tables.

SQLAlchemy's own execution takes several times what the insert takes; the writer hands these to the driver.
Parameters are named as the columns are, but for the hottest, which take them in the table's order.
"""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Executable, bindparam, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.elements import ClauseElement
from sqlmodel import SQLModel

from storage.rows import LAUNCH, RUN, TAG, USAGE
from storage.tables import Remark, Step, Stored

STEP, STORED, NOTE = (SQLModel.metadata.tables[str(one.__tablename__)] for one in (Step, Stored, Remark))


def _text(statement: ClauseElement | Executable, style: Literal['named', 'qmark'] = 'named') -> str:
    assert isinstance(statement, ClauseElement)
    return str(statement.compile(dialect=sqlite.dialect(paramstyle=style)))


INSERT_RUN = _text(insert(RUN).values({c.name: bindparam(c.name) for c in RUN.c if c.name != 'number'}))
INSERT_LAUNCH = _text(insert(LAUNCH))
INSERT_TAG = _text(insert(TAG))
INSERT_STEP = _text(insert(STEP), 'qmark')
INSERT_SNAPSHOT = _text(insert(STORED).prefix_with('OR REPLACE'))

HEAD = _text(
    select(
        RUN.c.number, RUN.c.epoch, RUN.c.seq, RUN.c.status, RUN.c.error, RUN.c.waiting, RUN.c.budget
    ).where(RUN.c.id == bindparam('id')),
    'qmark',
)
ADVANCE = _text(
    update(RUN)
    .where(RUN.c.number == bindparam('key'))
    .values({name: bindparam(name) for name in ('updated', 'seq', *USAGE)})
    .values(bytes=RUN.c.bytes + bindparam('more')),
    'qmark',
)
"""What every append changes; it leaves the indexes alone."""
TURN = _text(
    update(RUN)
    .where(RUN.c.number == bindparam('key'))
    .values({name: bindparam(name) for name in ('status', 'error', 'waiting', 'budget')}),
    'qmark',
)
"""What only some appends change."""
