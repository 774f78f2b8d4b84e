"""The tables, as SQLModel classes: runs, launches, tags, notes, transitions, snapshots, trails.

Everything of a run hangs on `run.number`, a small integer, not on its id: keys stay a few bytes wide.
What changes with every step (`run`) is kept apart from what never changes and may be long (`launch`), so that
an append rewrites one short row. The full-text index `search` is virtual; `migrations` makes it.
"""

from __future__ import annotations

from sqlalchemy import Index
from sqlmodel import Field, SQLModel


class Run(SQLModel, table=True):
    """The summary of a run: one short row, rewritten by each append."""

    __table_args__ = (
        Index('run_newest', 'deleted', 'created', 'id'),
        Index('run_of_pattern', 'deleted', 'pattern', 'created', 'id'),
        Index('run_in_status', 'deleted', 'status', 'created', 'id'),
        Index('run_kept', 'deleted', 'pinned', 'created', 'id'),
        Index('run_of_parent', 'parent'),
    )

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(unique=True)
    pattern: str
    title: str
    note: str = ''
    status: str
    created: float
    updated: float
    seq: int
    input: int
    output: int
    calls: int
    cached: int = 0
    written: int = 0
    reasoning: int = 0
    source: str = 'provider'
    dollars: float = 0.0
    unpriced: int = 0
    error: str
    waiting: str
    budget: str = ''
    """As JSON; '' is none. It changes when a person extends it."""
    simulated: bool
    parent: str | None
    parent_at: int
    owner: str
    epoch: int
    bytes: int
    starred: bool = False
    pinned: bool = False
    deleted: float = 0.0


class Launch(SQLModel, table=True):
    """What a run was launched with, as JSON texts; written once."""

    run: int = Field(primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    parameters: str
    models: str
    seed: str
    """As text: a seed may be wider than 64 bits."""
    shape: str
    options: str = '{}'


class Tag(SQLModel, table=True):
    """The tags of a run, in their order."""

    __table_args__ = (Index('tag_label', 'label', 'run'), {'sqlite_with_rowid': False})

    run: int = Field(primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    position: int = Field(primary_key=True)
    label: str


class Remark(SQLModel, table=True):
    """A note on a step."""

    __tablename__ = 'note'
    __table_args__ = (Index('note_of_step', 'run', 'seq'),)

    id: int | None = Field(default=None, primary_key=True)
    run: int = Field(foreign_key='run.number', ondelete='CASCADE')
    seq: int
    text: str
    created: float
    edited: float = 0.0


class Step(SQLModel, table=True):
    """A transition. `body` is what `codec` makes of all that has no column.

    It keeps its rowid: bodies of about 1 KB fill the leaves of a rowid table to the brim, and would spill
    into pages of their own in a table without; and runs that move at the same time all append at one end.
    """

    __tablename__ = 'transition'

    run: int = Field(primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    seq: int = Field(primary_key=True)
    time: float
    name: str
    at: str
    body: bytes


class Stored(SQLModel, table=True):
    """A snapshot: all that a fold knows at a step."""

    __tablename__ = 'snapshot'

    run: int = Field(primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    seq: int = Field(primary_key=True)
    body: bytes


class Passed(SQLModel, table=True):
    """Up to which step a run's trail is kept, the rules it was made by, and what it needs to go on (JSON)."""

    __tablename__ = 'trail'

    run: int = Field(primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    seq: int
    rules: int
    rest: str


class Taken(SQLModel, table=True):
    """How often a run took an edge. Made of its steps when it is asked for, and never by an append."""

    __tablename__ = 'trail_edge'
    __table_args__ = ({'sqlite_with_rowid': False},)

    run: int = Field(primary_key=True, foreign_key='trail.run', ondelete='CASCADE')
    source: str = Field(primary_key=True)
    dest: str = Field(primary_key=True)
    times: int


class Stayed(SQLModel, table=True):
    """What a run did in a state. Made as `trail_edge` is."""

    __tablename__ = 'trail_state'
    __table_args__ = ({'sqlite_with_rowid': False},)

    run: int = Field(primary_key=True, foreign_key='trail.run', ondelete='CASCADE')
    path: str = Field(primary_key=True)
    visits: int
    seconds: float
    failed: int
    expired: int
    fell: int
