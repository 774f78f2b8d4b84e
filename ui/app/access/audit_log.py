"""The audit log: who did what and when, beyond what the journals of runs hold."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from engine.errors import JournalError
from engine.host.clock import Clock
from engine.journal import Documents, Entry, EntryQuery
from engine.operations.experiments.datasets import escape_formula
from engine.records import RunId
from ui.app.access.caller import ADDRESS, Caller

log = logging.getLogger('hemicycle')
KIND: Final = 'audit'
ENTRIES_PER_READ: Final = 500
COLUMNS: Final = ('time', 'who', 'action', 'runs', 'via', 'address', 'refused', 'details')
"""Columns of an exported line; `deed` is the action, under its name in the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """An action that was done or attempted."""

    time: float
    """In seconds since 1970."""
    who: str
    """The account; for a failed login, the name that was entered."""
    action: str
    """The name of an operation, or `login`, `logout`, `download`, `account.add` and so on."""
    runs: tuple[str, ...] = ()
    """The runs it is about."""
    via: str = ''
    address: str = ''
    """The network address it came from."""
    refused: str = ''
    """Why it was refused, or ''."""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which lines to list, newest first; '' and None select all."""

    who: str = ''
    """Only what this account did."""
    action: str = ''
    """Only this action (`start`), or all with this beginning (`account.`)."""
    run: str = ''
    """Only entries about this run."""
    since: float | None = None
    """From this time on."""
    until: float | None = None
    """Before this time."""
    refused: bool = False
    """Only what was refused."""
    limit: int = 100


class AuditLog:
    """Writes and reads the log. Lines are never changed.

    Args:
        documents: store the lines, with the runs.
        clock: supplies the time of each line.
    """

    def __init__(self, documents: Documents, clock: Clock) -> None:
        self._documents, self._clock = documents, clock
        self._pending: set[asyncio.Task[None]] = set()

    async def write(  # noqa: PLR0913  (the columns)
        self,
        caller: Caller,
        action: str,
        *,
        runs: Sequence[RunId] = (),
        details: Mapping[str, Any] | None = None,
        refused: str = '',
        address: str = '',
    ) -> None:
        """Write a line. If the journal cannot be written, log that on the server; raise nothing."""
        now = self._clock.now()
        body = {
            'action': action,
            'runs': list(runs),
            'via': caller.via,
            'address': address or ADDRESS.get(),
            'refused': refused[:500],
            'details': dict(details or {}),
        }
        line = Entry(
            kind=KIND,
            key=f'{now:017.6f}-{secrets.token_hex(8)}',
            state=caller.name,
            rank=now,
            about=runs[0] if runs else '',
            body=body,
        )
        try:
            await self._documents.write([line])
        except JournalError:
            log.exception('the audit log could not be written: %s %s', caller.name, body)

    def note(self, caller: Caller, action: str, **more: Any) -> None:
        """Write a line in the background, for callers that cannot wait."""
        task = asyncio.ensure_future(self.write(caller, action, **more))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def close(self) -> None:
        """Wait until everything is written."""
        await asyncio.gather(*self._pending)

    async def lines(self, query: AuditQuery) -> list[AuditLine]:
        """Return the matching lines, newest first."""
        lines, until, seen = list[AuditLine](), query.until, set[str]()
        while True:
            page_query = EntryQuery(
                kind=KIND, state=query.who, until=until, newest=True, limit=ENTRIES_PER_READ
            )
            page = await self._documents.find(page_query)
            fresh = [entry for entry in page if entry.key not in seen]
            for entry in fresh:
                if query.since is not None and entry.rank < query.since:
                    return lines
                line = _line_of(entry)
                if _matches(line, query):
                    lines.append(line)
                    if len(lines) >= query.limit:
                        return lines
            if len(page) < ENTRIES_PER_READ or not fresh:
                return lines
            until, seen = page[-1].rank, {entry.key for entry in page}


def _matches(line: AuditLine, query: AuditQuery) -> bool:
    return (
        line.action.startswith(query.action)
        and (not query.run or query.run in line.runs)
        and (not query.refused or bool(line.refused))
    )


def _line_of(entry: Entry) -> AuditLine:
    body: Mapping[str, Any] = entry.body
    return AuditLine(
        time=entry.rank,
        who=entry.state,
        action=body['action'],
        runs=tuple(body['runs']),
        via=body['via'],
        address=body['address'],
        refused=body['refused'],
        details=body['details'],
    )


def row(line: AuditLine) -> dict[str, Any]:
    """Return the fields of a line as JSON values, the time in ISO 8601 (UTC)."""
    moment = datetime.fromtimestamp(line.time, UTC).isoformat(timespec='milliseconds')
    return {
        'time': moment.replace('+00:00', 'Z'),
        'who': line.who,
        'action': line.action,
        'runs': list(line.runs),
        'via': line.via,
        'address': line.address,
        'refused': line.refused,
        'details': dict(line.details),
    }


def as_json_lines(lines: Iterable[AuditLine]) -> str:
    """Return the lines as JSON, one object per line."""
    return ''.join(f'{json.dumps(row(line), ensure_ascii=False)}\n' for line in lines)


def as_csv(lines: Iterable[AuditLine]) -> str:
    """Return the lines as CSV (RFC 4180). No cell starts like a formula: a spreadsheet would evaluate it."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for line in lines:
        cells = row(line)
        cells |= {
            'runs': ' '.join(cells['runs']),
            'details': json.dumps(cells['details'], ensure_ascii=False),
        }
        writer.writerow([escape_formula(str(cells[name])) for name in COLUMNS])
    return file.getvalue()
