"""Checks of `hemicycle doctor` for a team's server: accounts, address, mail, schedules."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from engine import Catalog, EngineError, LocalConductor
from engine.errors import JournalDamaged
from engine.history import find_change
from engine.host.clock import RealClock
from engine.journal import Journal
from engine.operations import Role
from engine.records import clip
from engine.workspace import open_folders
from ui.app.access.accounts import Accounts
from ui.app.access.audit_log import AuditLog, AuditQuery
from ui.app.access.oidc import Provider, ProviderSettings
from ui.app.services.files_owner import describe_conflict
from ui.app.services.notifications import Channels, MailServer, Notifications
from ui.app.services.schedules import Schedules, Triggers
from ui.app.settings import Settings, Storage
from ui.formatting.values import count
from ui.server.serve import is_local, valid_origin
from ui.server.telemetry import ADDRESSES

Level = Literal['ok', 'warning', 'broken']


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, and how to remedy it."""

    level: Level
    about: str
    text: str
    remedy: str = ''


LATE = 3_600.0
"""Seconds after which an undelivered notification is reported."""
MAX_ROWS = 100_000
MAX_NAMED = 500
"""Characters of a list of runs."""
CHANGED = 'They can be read and run again. To continue one or fork it midway, put the old pattern back.'
RESTORE = 'Restore a backup, or remove the row.'


async def examine_team(
    storage: Storage, settings: Settings, catalog: Catalog, call: bool
) -> AsyncIterator[Finding]:
    """Check everything that a team adds to an installation. Nothing is changed.

    Args:
        storage: where the runs are.
        settings: those of the database to check.
        catalog: the patterns that schedules start.
        call: whether to contact the mail server and the identity provider.
    """
    for finding in _environment(os.environ):
        yield finding
    if call:
        async for finding in _calls(os.environ):
            yield finding
    file = storage.file(settings)
    if file and not file.exists():
        async for finding in _files(storage, settings, None):
            yield finding
        return
    try:
        if not storage.inspect(settings).is_current:
            yield Finding(
                'ok', 'Format', 'older than this program: the next start migrates it, after a backup'
            )
            return
        journal = await storage.open(settings)
    except EngineError:
        return  # Already reported.
    async with LocalConductor(journal, catalog=catalog, workspaces=settings.workspaces) as conductor:
        async for finding in _files(storage, settings, journal):
            yield finding
        async for finding in _entries(conductor):
            yield finding


async def _patterns(conductor: LocalConductor) -> AsyncIterator[Finding]:
    """Name the runs that today's patterns cannot continue, or fork midway."""
    changes: dict[str, list[str]] = {}
    async for info in conductor.iter_runs():
        try:
            change = find_change(conductor.catalog, info, await conductor.shape(info.id))
        except JournalDamaged:
            continue  # Already reported.
        if change:
            changes.setdefault(change, []).append(f'{info.id} ({info.status})')
    for change, runs in changes.items():
        text = f'{count(len(runs), "run")}: {change}: {clip(", ".join(runs), MAX_NAMED)}'
        yield Finding('warning', 'Changed pattern', text, CHANGED)


async def _entries(conductor: LocalConductor) -> AsyncIterator[Finding]:
    for about, check in (
        ('Patterns', _patterns),
        ('Accounts', _accounts),
        ('Notifications', _notifications),
        ('Schedules', _schedules),
        ('Audit log', _audit),
    ):
        try:
            async for finding in check(conductor):
                yield finding
        except (EngineError, ValueError, KeyError, TypeError) as error:
            yield Finding('broken', about, f'cannot be read: {error}'.partition('\n')[0], RESTORE)


def _environment(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check the environment variables; a server does not start if they are invalid."""
    checks: Mapping[str, Callable[[Mapping[str, str]], Finding | None]] = {
        'Address': _address,
        'E-mail': _mail,
        'Identity provider': _provider,
    }
    for about, check in checks.items():
        try:
            if finding := check(environment):
                yield finding
        except EngineError as error:
            yield Finding('broken', about, str(error))
    if receiver := next(filter(None, (environment.get(name, '').strip() for name in ADDRESSES)), ''):
        yield Finding('ok', 'Traces', f'are sent to {receiver}')
    for folder in open_folders() or ():
        if not folder.is_absolute() or not folder.is_dir():
            text = f'HEMICYCLE_PROJECTS names {folder}, which is not a folder'
            yield Finding('warning', 'Projects', text, 'Use absolute paths.')


def _address(environment: Mapping[str, str]) -> Finding | None:
    address = environment.get('HEMICYCLE_URL', '').strip()
    if not address:
        return None
    url = valid_origin(address, 'HEMICYCLE_URL')
    if url.startswith('https:') or is_local(urlsplit(url).hostname or ''):
        return Finding('ok', 'Address', url)
    text = f'{url} does not use TLS: passwords and cookies can be intercepted'
    return Finding('warning', 'Address', text, 'See assets/deploy/README.md for a proxy with TLS.')


def _mail(environment: Mapping[str, str]) -> Finding | None:
    mail = MailServer.of_environment(environment)
    return Finding('ok', 'E-mail', f'{mail.host}:{mail.port}, from {mail.sender}') if mail else None


def _provider(environment: Mapping[str, str]) -> Finding | None:
    provider = ProviderSettings.of(environment)
    return Finding('ok', 'Identity provider', provider.issuer) if provider else None


async def _calls(environment: Mapping[str, str]) -> AsyncIterator[Finding]:
    try:
        mail, provider = MailServer.of_environment(environment), ProviderSettings.of(environment)
    except EngineError:
        return  # Already reported.
    if mail:
        problem = await mail.problem()
        yield Finding('broken' if problem else 'ok', f'{mail.host}:{mail.port}', problem or 'accepts e-mail')
    if provider:
        try:
            await Provider(provider).discover()
            yield Finding('ok', provider.issuer, 'answers')
        except EngineError as error:
            yield Finding('broken', provider.issuer, str(error))


async def _files(storage: Storage, settings: Settings, journal: Journal | None) -> AsyncIterator[Finding]:
    with suppress(EngineError):  # Storage that cannot be reached is already reported.
        documents = journal.documents if journal else None
        if (files := storage.files(settings)) and (problem := await describe_conflict(documents, files)):
            yield Finding('broken', 'Files', problem)


async def _accounts(conductor: LocalConductor) -> AsyncIterator[Finding]:
    accounts = Accounts(conductor.journal.documents, RealClock())
    all_accounts = await accounts.list()
    await accounts.tokens()
    if not all_accounts:
        yield Finding('ok', 'Accounts', 'none: no login is needed, and the server listens on loopback only')
        return
    admins = sum(account.role is Role.ADMIN for account in all_accounts)
    yield Finding(
        'ok', 'Accounts', f'{count(len(all_accounts), "account")}, {count(admins, "administrator")}'
    )
    if not admins:
        yield Finding('broken', 'Accounts', 'no administrator', 'hemicycle user change NAME --role admin')
    if open_folders() is None:
        text = 'runs cannot use files of this machine: HEMICYCLE_PROJECTS names no folders'
        yield Finding('ok', 'Projects', text)


async def _notifications(conductor: LocalConductor) -> AsyncIterator[Finding]:
    notifications = Notifications(conductor, Channels())
    destinations = await notifications.destinations.list()
    for destination in destinations:
        if destination.problem:
            yield Finding(
                'warning', 'Notifications', f'nothing is sent to {destination.name}: {destination.problem}'
            )
        if destination.channel == 'email' and not os.environ.get('HEMICYCLE_SMTP', '').strip():
            yield Finding(
                'warning', 'Notifications', f'{destination.name} needs a mail server', 'Set HEMICYCLE_SMTP.'
            )
    late = conductor.clock.now() - LATE
    waiting = [
        message for message in await notifications.log(state='due', limit=MAX_ROWS) if message.created < late
    ]
    if waiting:
        oldest = min(waiting, key=lambda message: message.created)
        why = next((attempt.error for attempt in reversed(oldest.attempts)), 'not attempted yet')
        text = f'{count(len(waiting), "message")} not delivered for more than an hour; the oldest: {why}'
        yield Finding('warning', 'Notifications', text, 'See /notifications, where each can be sent again.')
    if destinations:
        yield Finding('ok', 'Notifications', count(len(destinations), 'destination'))


async def _schedules(conductor: LocalConductor) -> AsyncIterator[Finding]:
    schedules, triggers = Schedules(conductor), Triggers(conductor)
    parts: Any
    for kind, parts in (('schedule', schedules), ('trigger', triggers)):
        for part in await parts.list():
            name = f'{kind.capitalize()} {part.name}'
            try:
                if kind == 'schedule':
                    await schedules.validate(part)
                else:
                    triggers.validate(part)
            except EngineError as error:
                yield Finding('broken', name, f'cannot start anything: {error}')
                continue
            last = next(iter(await parts.log(part.id, 1)), None)
            if last and last.state in ('failed', 'missed'):
                yield Finding('warning', name, f'last run: {last.state}, {last.reason}')
            if kind == 'trigger' and part.kind == 'file' and not Path(part.files).parent.is_dir():
                yield Finding('warning', name, f'there is no folder {Path(part.files).parent}')


async def _audit(conductor: LocalConductor) -> AsyncIterator[Finding]:
    log = AuditLog(conductor.journal.documents, conductor.clock)
    since = conductor.clock.now() - 86_400.0
    refused = await log.lines(AuditQuery(action='login', refused=True, since=since, limit=1_000))
    if len(refused) >= 20:
        names = sorted({line.who for line in refused})[:5]
        text = f'{len(refused):,} logins were refused in a day, for {", ".join(names)}'
        yield Finding('warning', 'Audit log', text, 'See `hemicycle user log --action login --refused`.')
