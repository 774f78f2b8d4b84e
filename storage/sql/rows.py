"""Converts run summaries and shapes to rows and back."""

from __future__ import annotations

import json
from dataclasses import fields
from operator import attrgetter
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row, Select, select
from sqlmodel import SQLModel

from engine.errors import JournalDamaged
from engine.records import PURGING, Budget, RunId, RunInfo, Shape, Status, Usage
from engine.records.jsonable import to_plain
from storage.sql.dialects import Labels
from storage.sql.tables import (
    EntryRow,
    LaunchRow,
    NoteRow,
    ReservationRow,
    RunRow,
    SnapshotRow,
    TagRow,
    TransitionRow,
)

RUN, LAUNCH, TAG, STEP, STORED, NOTE, RESERVATION, ENTRY = (
    SQLModel.metadata.tables[str(model.__tablename__)]
    for model in (RunRow, LaunchRow, TagRow, TransitionRow, SnapshotRow, NoteRow, ReservationRow, EntryRow)
)
SHAPE = TypeAdapter(Shape)
BUDGET = TypeAdapter(Budget)
USAGE = tuple(field.name for field in fields(Usage))
"""Columns of `run`, named like the record's fields."""
DIRECT_COLUMNS = tuple(
    field.name for field in fields(RunInfo) if field.name in RUN.c and field.name not in ('status', 'budget')
)
"""Columns of `run` that hold a field of the summary as it is."""
usage_values = attrgetter(*USAGE)
"""Get their values, in this order."""
get_times = attrgetter('created', 'updated', 'deleted')
get_numbers = attrgetter('seq', 'parent_at', 'epoch', 'bytes', *(name for name in USAGE if name != 'source'))
get_texts = attrgetter(
    'id', 'pattern', 'version', 'title', 'error', 'waiting', 'note', 'source', 'owner', 'author'
)
YEAR_10000 = 253_402_300_800.0


def select_infos() -> Select[Any]:
    """Return the query for summaries; `read_info` reads its rows."""
    launch = (LAUNCH.c.parameters, LAUNCH.c.models, LAUNCH.c.seed, LAUNCH.c.options)
    return select(RUN, *launch, Labels().label('tags')).join(LAUNCH, LAUNCH.c.run == RUN.c.number)


def read_info(row: Row[Any]) -> RunInfo:
    """Read the summary in a row of `select_infos`. Raises `JournalDamaged`."""
    try:
        return _info(row)
    except (ValueError, TypeError, RecursionError) as error:
        reason = ' '.join(str(error).split())[:200]
        raise JournalDamaged(f'the row of run {row.id} in the database is damaged: {reason}') from error


def read_shape(run: RunId, stored: str) -> Shape:
    """Read a run's chart. Raises `JournalDamaged`."""
    try:
        return SHAPE.validate_json(stored)
    except ValueError as error:
        raise JournalDamaged(f'the chart of run {run} in the database is damaged') from error


def list_info(row: Row[Any]) -> RunInfo:
    """Read a summary for a list. A damaged one is listed as failed, so that the others can be shown."""
    try:
        return read_info(row)
    except JournalDamaged as error:
        return RunInfo(
            id=RunId(str(row.id)),
            pattern=str(row.pattern),
            title=str(row.title),
            owner=str(row.owner),
            status=Status.FAILED,
            error=str(error),
        )


def _info(row: Row[Any]) -> RunInfo:
    # SQLite accepts any value in any column. Fail here, before a bad one breaks a calculation over all runs.
    sum(get_numbers(row)), ''.join(get_texts(row))
    if not PURGING <= min(get_times(row)) <= max(get_times(row)) < YEAR_10000:
        raise ValueError('one of its times is out of range')
    return RunInfo(
        **{name: getattr(row, name) for name in DIRECT_COLUMNS},
        parameters=dict(json.loads(row.parameters)),
        models=dict(json.loads(row.models)),
        seed=int(row.seed),
        options=dict(json.loads(row.options)),
        status=Status(row.status),
        usage=Usage(**{name: getattr(row, name) for name in USAGE}),
        budget=BUDGET.validate_json(row.budget) if row.budget else None,
        tags=row.tags,
    )


def run_row(info: RunInfo) -> dict[str, Any]:
    """Return the row of `run` for a new run; the database assigns its number."""
    return {
        **{name: getattr(info, name) for name in DIRECT_COLUMNS},
        **dict(zip(USAGE, usage_values(info.usage), strict=True)),
        'status': info.status.value,
        'budget': budget_text(info.budget),
    }


def budget_text(budget: Budget | None) -> str:
    """Return a budget as JSON; '' for None."""
    return '' if budget is None else BUDGET.dump_json(budget).decode()


def launch_row(number: int, info: RunInfo, shape: Shape) -> dict[str, Any]:
    """Return the columns of a new run's row in `launch`."""
    return {
        'run': number,
        'parameters': json.dumps(info.parameters, default=to_plain),
        'models': json.dumps(info.models, default=to_plain),
        'seed': str(info.seed),
        'shape': SHAPE.dump_json(shape).decode(),
        'options': json.dumps(info.options, default=to_plain),
    }
