"""Run summaries and shapes to rows and back."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row, Select, func, select
from sqlmodel import SQLModel

from engine.records import Budget, RunId, RunInfo, Shape, Status, Usage
from storage.codec import plain
from storage.tables import Launch, Run, Tag

RUN, LAUNCH, TAG = (SQLModel.metadata.tables[str(model.__tablename__)] for model in (Run, Launch, Tag))
SHAPE = TypeAdapter(Shape)
BUDGET = TypeAdapter(Budget)
USAGE = tuple(field.name for field in fields(Usage))
"""Columns of `run`, by the names of the record."""


def infos() -> Select[Any]:
    """Select summaries, each in one row: what `read_info` reads."""
    tags = (
        select(func.json_group_array(func.json_array(TAG.c.position, TAG.c.label)))
        .where(TAG.c.run == RUN.c.number)
        .scalar_subquery()
    )
    launch = (LAUNCH.c.parameters, LAUNCH.c.models, LAUNCH.c.seed, LAUNCH.c.options)
    return select(RUN, *launch, tags.label('tags')).join(LAUNCH, LAUNCH.c.run == RUN.c.number)


def read_info(row: Row[Any]) -> RunInfo:
    """The summary in a row of `infos`."""
    return RunInfo(
        id=RunId(row.id),
        pattern=row.pattern,
        title=row.title,
        parameters=json.loads(row.parameters),
        models=json.loads(row.models),
        seed=int(row.seed),
        options=json.loads(row.options),
        status=Status(row.status),
        created=row.created,
        updated=row.updated,
        seq=row.seq,
        usage=Usage(**{name: getattr(row, name) for name in USAGE}),
        budget=BUDGET.validate_json(row.budget) if row.budget else None,
        error=row.error,
        waiting=row.waiting,
        simulated=row.simulated,
        tags=tuple(label for _, label in sorted(json.loads(row.tags))),
        note=row.note,
        parent=None if row.parent is None else RunId(row.parent),
        parent_at=row.parent_at,
        owner=row.owner,
        epoch=row.epoch,
        bytes=row.bytes,
        starred=row.starred,
        pinned=row.pinned,
        deleted=row.deleted,
    )


def run_row(info: RunInfo) -> dict[str, Any]:
    """The row of `run` for a new run; the database gives it its number."""
    return {
        'id': info.id,
        'pattern': info.pattern,
        'title': info.title,
        'note': info.note,
        'status': info.status.value,
        'created': info.created,
        'updated': info.updated,
        'seq': info.seq,
        **usage_row(info.usage),
        'budget': budget_text(info.budget),
        'error': info.error,
        'waiting': info.waiting,
        'simulated': info.simulated,
        'parent': info.parent,
        'parent_at': info.parent_at,
        'owner': info.owner,
        'epoch': info.epoch,
        'bytes': info.bytes,
        'starred': info.starred,
        'pinned': info.pinned,
        'deleted': info.deleted,
    }


def usage_row(usage: Usage) -> dict[str, Any]:
    """The columns of a usage."""
    return {name: getattr(usage, name) for name in USAGE}


def budget_text(budget: Budget | None) -> str:
    """A budget as JSON; '' for none."""
    return '' if budget is None else BUDGET.dump_json(budget).decode()


def launch_row(number: int, info: RunInfo, shape: Shape) -> dict[str, Any]:
    """The row of `launch` for a new run."""
    return {
        'run': number,
        'parameters': json.dumps(info.parameters, default=plain),
        'models': json.dumps(info.models, default=plain),
        'seed': str(info.seed),
        'shape': SHAPE.dump_json(shape).decode(),
        'options': json.dumps(info.options, default=plain),
    }
