"""The audit log: who did what, with filters and an export."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

from fastapi import HTTPException, Request, Response
from nicegui import app

from engine.errors import NotAllowed
from engine.operations import Role
from ui.app.access.audit_log import AuditLine, AuditQuery, as_csv, as_json_lines
from ui.app.access.caller import IDENTITY
from ui.app.backend import Backend
from ui.web.components.theme import empty_state, frame, page_head, text_notice
from ui.web.components.widgets import Box, Text, label, text_input, text_link
from ui.web.downloads import HARMLESS, attachment
from ui.web.pages.accounts.page import refusal
from ui.web.pages.shared.account_parts import AUDIT, Table, administers, table
from ui.web.routing import serve_page, with_query

MAX_SHOWN_LINES, MAX_SAVED_LINES = 200, 100_000
FILTERS = ('who', 'action', 'run', 'since', 'until', 'refused')


def register(backend: Backend) -> None:
    """Serve the page and its export."""

    @serve_page(AUDIT, 'Audit log', offered=partial(administers, backend))
    async def audit(request: Request) -> None:
        with frame():
            page_head(
                'Audit log', 'Who did what, newest first. Events sent to a run are also in its journal.'
            )
            if refused := await refusal(backend, IDENTITY.get()):
                text_notice('fail', 'block', refused)
                return
            assert backend.access is not None
            filters = {name: request.query_params.get(name, '')[:200] for name in FILTERS}
            _filters(filters)
            lines = await backend.access.audit.lines(_query(filters, MAX_SHOWN_LINES))
            if not lines:
                empty_state('history', 'No entries match.')
                return
            with table(('Time', 'Account', 'Action', 'Run', 'Address'), 'Audit log') as drawn:
                for line in lines:
                    _draw(drawn, line)
            if len(lines) == MAX_SHOWN_LINES:
                Text(
                    'p',
                    f'Only the newest {MAX_SHOWN_LINES} entries are shown. Export them to see more.',
                    'muted small',
                )

    @app.get(f'{AUDIT}/export/{{form}}', include_in_schema=False)
    async def export(request: Request, form: str) -> Response:
        identity = IDENTITY.get()
        if backend.access is None or identity is None or form not in ('csv', 'jsonl'):
            raise HTTPException(404, 'there is no audit log')
        caller = await identity.check()
        try:
            caller.require(Role.ADMIN, 'audit.export')
        except NotAllowed as error:
            raise HTTPException(403, str(error)) from None
        filters = {name: request.query_params.get(name, '')[:200] for name in FILTERS}
        lines = await backend.access.audit.lines(_query(filters, MAX_SAVED_LINES))
        await backend.access.audit.write(caller, 'audit.export', details={'form': form, 'lines': len(lines)})
        text, media = (
            (as_csv(lines), 'text/csv') if form == 'csv' else (as_json_lines(lines), 'application/jsonl')
        )
        headers = HARMLESS | {'Content-Disposition': attachment(f'hemicycle-audit.{form}')}
        return Response(text, media_type=f'{media}; charset=utf-8', headers=headers)


def _filters(filters: Mapping[str, str]) -> None:
    with Box('filters', 'form', method='get', action=AUDIT, role='search'):
        for name, title, kind in (
            ('who', 'Account', 'text'),
            ('action', 'Action', 'text'),
            ('run', 'Run', 'text'),
            ('since', 'From', 'date'),
            ('until', 'To', 'date'),
        ):
            with Box('filter' if kind == 'text' else 'filter date'):
                field = text_input(filters[name], kind=kind, name=name, placeholder=title)
                label(title, field, 'visually-hidden' if kind == 'text' else 'small muted')
        with Box('check', 'label'):
            box = Box(tag='input', type='checkbox', name='refused', value='1')
            if filters['refused']:
                box.props('checked')
            Text('span', 'Refused only')
        with Box('btn', 'button', type='submit'):
            Text('span', 'Filter')
        for form in ('csv', 'jsonl'):
            text_link(with_query(f'{AUDIT}/export/{form}', **filters), form.upper(), 'btn quiet', download='')


def _draw(table: Table, line: AuditLine) -> None:
    with table.row(classes='refused' if line.refused else ''):
        when = datetime.fromtimestamp(line.time, UTC)
        table.cell(when.strftime('%Y-%m-%d %H:%M:%S'), 'num')
        table.cell(line.who or '—')
        with table.cell():
            Text('strong', line.action)
            details = ', '.join(
                f'{name}: {value}' for name, value in line.details.items() if value not in ('', False)
            )
            if details:
                Text('span', f' {details}', 'muted')
            if line.refused:
                Text('p', f'Refused: {line.refused}', 'problem')
        with table.cell():
            for run in line.runs[:5]:
                text_link(f'/runs/{run}', run, 'mono')
        table.cell(' '.join(filter(None, (line.via, line.address))), 'muted')


def _query(filters: Mapping[str, str], limit: int) -> AuditQuery:
    return AuditQuery(
        who=filters['who'].strip(),
        action=filters['action'].strip(),
        run=filters['run'].strip(),
        since=_day(filters['since']),
        until=_day(filters['until'], 86_400.0),
        refused=bool(filters['refused']),
        limit=limit,
    )


def _day(text: str, more: float = 0.0) -> float | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() + more if text else None
    except ValueError:
        return None
