"""Tables as SQLModel classes: runs, tags, notes, steps, snapshots, path statistics, requests, entries.

All tables refer to a run by `run.number`, a small integer, not by its id, so that keys are only a few bytes
wide. Data that changes with every step (`run`) is separate from constant, possibly long data (`launch`), so
that an append rewrites one short row. The full-text index `search` differs by dialect and is created by the
migrations.
"""

from __future__ import annotations

from typing import Annotated

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from storage.sql.dialects import Int64

Number = Annotated[int, Field(sa_type=Int64)]


class RunRow(SQLModel, table=True):
    """The summary of a run: one short row, rewritten by each append."""

    __tablename__ = 'run'
    __table_args__ = (
        Index('run_newest', 'deleted', 'created', 'id'),
        Index('run_of_pattern', 'deleted', 'pattern', 'created', 'id'),
        Index('run_in_status', 'deleted', 'status', 'created', 'id'),
        Index('run_kept', 'deleted', 'pinned', 'created', 'id'),
        Index('run_of_parent', 'parent'),
    )

    number: int | None = Field(default=None, primary_key=True, sa_type=Int64)
    id: str = Field(unique=True)
    pattern: str
    version: str
    title: str
    note: str
    status: str
    created: float
    updated: float
    seq: Number
    input: Number
    output: Number
    calls: Number
    cached: Number
    written: Number
    reasoning: Number
    source: str
    dollars: float
    unpriced: Number
    error: str
    waiting: str
    budget: str
    """As JSON; '' means none. Changes when a person extends it."""
    simulated: bool
    parent: str | None
    parent_at: Number
    owner: str
    epoch: Number
    bytes: Number
    starred: bool
    pinned: bool
    deleted: float
    author: str
    private: bool


class LaunchRow(SQLModel, table=True):
    """A run's launch data, as JSON strings; written once."""

    __tablename__ = 'launch'

    run: int = Field(sa_type=Int64, primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    parameters: str
    models: str
    seed: str
    """As text: a seed may be wider than 64 bits."""
    shape: str
    options: str


class TagRow(SQLModel, table=True):
    """A run's tags, in order."""

    __tablename__ = 'tag'
    __table_args__ = (Index('tag_label', 'label', 'run'), {'sqlite_with_rowid': False})

    run: int = Field(sa_type=Int64, primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    position: int = Field(sa_type=Int64, primary_key=True)
    label: str


class NoteRow(SQLModel, table=True):
    """A note on a step."""

    __tablename__ = 'note'
    __table_args__ = (Index('note_of_step', 'run', 'seq'),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Int64)
    run: int = Field(sa_type=Int64, foreign_key='run.number', ondelete='CASCADE')
    seq: Number
    text: str
    created: float
    edited: float


class ReservationRow(SQLModel, table=True):
    """A request that creates something, by its idempotency key."""

    __tablename__ = 'reservation'
    __table_args__ = (Index('reservation_age', 'created'),)

    key: str = Field(primary_key=True)
    digest: str
    run: str
    created: float
    reply: str


class EntryRow(SQLModel, table=True):
    """A small JSON document stored by programs around the engine."""

    __tablename__ = 'entry'
    __table_args__ = (
        Index('entry_in_state', 'kind', 'state', 'rank', 'key'),
        Index('entry_about', 'kind', 'about', 'rank', 'key'),
    )

    kind: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    version: Number
    state: str
    rank: float
    about: str
    body: str


class TransitionRow(SQLModel, table=True):
    """A transition. `body` is the encoding by `codec` of everything without a column.

    The table has rowids: bodies of about 1 KB fit the leaf pages of a rowid table, but would spill into
    overflow pages without rowids. Also, all active runs then append at the same end.
    """

    __tablename__ = 'transition'

    run: int = Field(sa_type=Int64, primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    seq: int = Field(sa_type=Int64, primary_key=True)
    time: float
    name: str
    at: str
    body: bytes


class SnapshotRow(SQLModel, table=True):
    """A snapshot: the complete fold state at a step."""

    __tablename__ = 'snapshot'

    run: int = Field(sa_type=Int64, primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    seq: int = Field(sa_type=Int64, primary_key=True)
    body: bytes


class PathRow(SQLModel, table=True):
    """A run's path statistics: last step included, version of the rules, state to resume from (JSON)."""

    __tablename__ = 'trail'

    run: int = Field(sa_type=Int64, primary_key=True, foreign_key='run.number', ondelete='CASCADE')
    seq: Number
    rules: Number
    rest: str


class PathEdgeRow(SQLModel, table=True):
    """How often a run took an edge. Computed from its steps on demand, never by an append."""

    __tablename__ = 'trail_edge'
    __table_args__ = ({'sqlite_with_rowid': False},)

    run: int = Field(sa_type=Int64, primary_key=True, foreign_key='trail.run', ondelete='CASCADE')
    source: str = Field(primary_key=True)
    dest: str = Field(primary_key=True)
    times: Number


class PathStateRow(SQLModel, table=True):
    """Visits, time, failures and use of a run in a state. Computed like `trail_edge`."""

    __tablename__ = 'trail_state'
    __table_args__ = ({'sqlite_with_rowid': False},)

    run: int = Field(sa_type=Int64, primary_key=True, foreign_key='trail.run', ondelete='CASCADE')
    path: str = Field(primary_key=True)
    visits: Number
    seconds: float
    failed: Number
    expired: Number
    fell: Number
    tokens: Number
    dollars: float | None
