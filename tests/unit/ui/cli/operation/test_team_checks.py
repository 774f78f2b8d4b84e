"""hemicycle doctor for a team: accounts, address, mail, login, notifications and schedules."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from engine import Conductor, LocalConductor
from engine.journal import Entry
from engine.operations import Role
from engine.records import Launch, RunId
from storage import open_journal
from tests.unit.ui.cli.conftest import Doctor
from ui.app.access.audit_log import AuditLog
from ui.app.access.caller import Caller
from ui.app.services.notifications import Destination
from ui.app.services.notifications.destinations import Destinations
from ui.app.services.notifications.outbox import Outbox, OutboxMessage
from ui.app.services.schedules import Schedule, Schedules, ScheduleSpec, Trigger, Triggers


def prepare(doctor: Doctor, work: Callable[[Conductor], Awaitable[object]]) -> None:
    """Do some work in the installation's database."""

    async def run() -> None:
        async with LocalConductor(await open_journal(doctor.hemicycle.database)) as conductor:
            await work(conductor)

    asyncio.run(run())


@pytest.mark.parametrize(
    ('variables', 'about', 'level', 'text'),
    [
        ({'HEMICYCLE_URL': 'hemicycle.example'}, 'Address', 'broken', 'must be a site'),
        ({'HEMICYCLE_URL': 'http://hemicycle.example'}, 'Address', 'warning', 'does not use TLS'),
        ({'HEMICYCLE_URL': 'https://hemicycle.example'}, 'Address', 'ok', 'https://hemicycle.example'),
        ({'HEMICYCLE_SMTP': 'ftp://x'}, 'E-mail', 'broken', 'must be smtp://'),
        ({'HEMICYCLE_SMTP': 'smtp://mail.example'}, 'E-mail', 'ok', 'mail.example:587'),
        ({'HEMICYCLE_OIDC_ISSUER': 'https://id.example'}, 'Identity provider', 'broken', 'is missing'),
        ({'HEMICYCLE_PROJECTS': '/nowhere'}, 'Projects', 'warning', '/nowhere, which is not a folder'),
        ({'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://127.0.0.1:4318'}, 'Traces', 'ok', '127.0.0.1:4318'),
    ],
)
def test_invalid_variables_are_named(
    examine: Doctor,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    about: str,
    level: str,
    text: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    check = examine(code=1 if level == 'broken' else 0)[about]
    assert check['level'] == level and text in check['text']


def test_an_unreachable_mail_server_is_found_on_request(
    examine: Doctor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv('HEMICYCLE_SMTP', 'smtp://127.0.0.1:1')
    check = examine('--call', code=1)['127.0.0.1:1']
    assert check['level'] == 'broken' and check['text'] == 'it refuses connections'


def test_accounts_are_counted_and_a_damaged_one_is_named(examine: Doctor) -> None:
    assert examine.hemicycle('user', 'add', 'ada', '--no-password').exit_code == 0
    checks = examine()
    assert checks['Accounts']['text'] == '1 account, 1 administrator'
    assert 'cannot use files of this machine' in checks['Projects']['text']
    with closing(sqlite3.connect(examine.hemicycle.database)) as file:
        file.execute("UPDATE entry SET body = 'x' WHERE kind = 'account'")
        file.commit()
    checks = examine(code=1)
    assert 'the entry account ada is damaged' in checks['Accounts']['text']
    listed = examine.hemicycle('user', 'list')
    assert listed.exit_code != 0 and 'the entry account ada is damaged' in listed.stderr


def test_runs_whose_pattern_is_gone_are_named(examine: Doctor) -> None:
    assert examine.hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '-q').exit_code == 0
    assert 'Changed pattern' not in examine()
    with closing(sqlite3.connect(examine.hemicycle.database)) as file, file:
        file.execute("UPDATE run SET pattern = 'former'")
        (run,) = file.execute('SELECT id FROM run').fetchone()
    check = examine()['Changed pattern']
    assert check['level'] == 'warning'
    assert check['text'] == f"1 run: there is no pattern 'former' any more: {run} (done)"


def test_undelivered_messages_and_failed_starts_are_named(examine: Doctor, tmp_path: Path) -> None:
    async def work(conductor: Conductor) -> None:
        destinations = Destinations(conductor.journal.documents, conductor.clock)
        hook = await destinations.add(
            Destination(name='Team', channel='webhook', address='https://team.example/hook')
        )
        await destinations.change(hook.id, paused=True, problem='it answered 410 Gone')
        await destinations.add(Destination(name='Ada', channel='email', address='ada@team.example'))
        message = OutboxMessage(
            id='m', destination=hook.id, event='test', run=RunId(''), title='', step=0, text='', created=1.0
        )
        await Outbox(conductor.journal.documents).add([message])
        action = Launch(pattern='pipeline', parameters={'task': 'Compare tea and coffee'})
        schedule = await Schedules(conductor).add(
            Schedule(name='Nightly', action=action, spec=ScheduleSpec(cron=('0 2 * * *',)))
        )
        entry = await conductor.journal.documents.get('schedule', schedule.id)
        assert entry is not None
        old = {**asdict(schedule), 'name': 'Old', 'action': {'pattern': 'gone'}}
        deleted = Entry(
            kind='schedule',
            key='gone',
            body={**entry.body, 'schedule': old},
            rank=entry.rank,
            state=entry.state,
        )
        await conductor.journal.documents.write([deleted])
        files = str(tmp_path / 'in' / '*')
        await Triggers(conductor).add(
            Trigger(name='Files', kind='file', files=files, action=action, mapping={'task': '/text'})
        )
        log = AuditLog(conductor.journal.documents, conductor.clock)
        for _ in range(25):
            await log.write(Caller('mallory', Role.VIEWER), 'login', refused='wrong name or password')

    prepare(examine, work)
    result = examine.hemicycle('doctor')
    assert result.exit_code == 1
    for text in (
        'nothing is sent to Team: it answered 410 Gone',
        'Ada needs a mail server',
        '1 message not delivered for more than an hour; the oldest: not attempted yet',
        'broken   Schedule Old: cannot start anything',
        f'there is no folder {tmp_path / "in"}',
        '25 logins were refused in a day, for mallory',
    ):
        assert text in result.output, result.output
    assert 'Schedule Nightly' not in result.output
