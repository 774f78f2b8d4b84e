"""hemicycle database backup and restore: everything in one archive, and back."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from engine.errors import Diverged, JournalDamaged, PatternError, UnknownPattern
from ui.app.settings import BackupInfo, Settings, Storage
from ui.cli.conductors import open_reader
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.output.errors import CommandError
from ui.cli.session import Session, with_session
from ui.formatting.values import count, moment_text
from ui.server.grace import exit_cleanly

EPILOG = f"""Examples:

```
hemicycle database backup
hemicycle database backup /mnt/backups/hemicycle.tar.gz
HEMICYCLE_HOME=/srv/hemicycle hemicycle database restore hemicycle-2026-11-23.tar.gz
```

{CODES}"""
Audit = Annotated[
    bool, typer.Option('--audit/--no-audit', help='Audit every run: decide each step again, and compare.')
]


@with_session('patterns', 'database')
@exit_cleanly()
def backup(
    target: Annotated[
        Path | None,
        typer.Argument(metavar='FILE', help='The archive; by default in this folder, named after the date.'),
    ] = None,
    check: Audit = True,
    *,
    session: Session,
) -> None:
    """Write all runs and their files to one archive, even while a server is running.

    The archive is checked as `restore` would: every page of its database, and every step of its runs.
    Configuration and keys (`endpoints.toml`) are not in it.
    """
    storage, settings = session.storage, session.settings
    if not _file(storage, settings, 'pg_dump').exists():
        raise CommandError(f'{storage.name(settings)} does not exist: there is nothing to back up')
    archive = target or Path(f'hemicycle-{time.strftime("%Y-%m-%d")}.tar.gz')
    if archive.exists():
        raise CommandError(f'{archive} already exists: name another file')
    info = storage.back_up(settings, archive)
    typer.echo(f'{archive}: {describe(info)}')
    if remote := storage.files(settings):
        typer.echo(f'not included: files that are only in {remote.name}; back that up, too')
    if check:
        with TemporaryDirectory(prefix='hemicycle-') as folder:
            copy = replace(settings, files='', home=Path(folder), database=str(Path(folder, 'hemicycle.db')))
            storage.restore(archive, copy)
            report_audit(asyncio.run(audit_all(session, copy)))


@with_session('patterns', 'database')
@exit_cleanly()
def restore(
    archive: Annotated[
        Path, typer.Argument(metavar='FILE', help='An archive written by `hemicycle database backup`.')
    ],
    check: Audit = True,
    *,
    session: Session,
) -> None:
    """Restore a backup where there is no database yet: all of it or nothing. Nothing is overwritten.

    An unfinished run continues with the next `serve` or `resume`: restore a backup in one place only.
    """
    storage, settings = session.storage, session.settings
    _file(storage, settings, 'pg_restore')
    info = storage.restore(archive, settings)
    typer.echo(f'{storage.name(settings)}: {describe(info)}')
    if check:
        report_audit(asyncio.run(audit_all(session, settings)))


def _file(storage: Storage, settings: Settings, instead: str) -> Path:
    if file := storage.file(settings):
        return file
    what = f"PostgreSQL's own {instead} does this for {storage.name(settings)}"
    remote = storage.files(settings)
    raise CommandError(
        f'{what}; the files of its runs are in {remote.name if remote else settings.workspaces}'
    )


def describe(info: BackupInfo) -> str:
    """Summarize the content of a backup or a database."""
    return f'{count(info.runs, "run")}, {count(info.steps, "step")}, as of {moment_text(info.created)}'


async def audit_all(session: Session, settings: Settings) -> tuple[int, list[str], list[str]]:
    """Audit all runs; return the number that match, the problems of others, and patterns not found."""
    ok, wrong, unknown = 0, list[str](), list[str]()
    async with open_reader(replace(session, settings=settings), session.catalog) as conductor:
        for place in ('list', 'trash'):
            async for info in conductor.iter_runs(place):
                try:
                    await conductor.audit(info.id)
                except (Diverged, JournalDamaged) as error:
                    wrong.append(str(error))
                except (UnknownPattern, PatternError):
                    unknown.append(info.pattern)
                else:
                    ok += 1
    return ok, wrong, unknown


def report_audit(counts: tuple[int, list[str], list[str]]) -> None:
    """Print the result of an audit; fail the command if a run does not match its record."""
    ok, wrong, unknown = counts
    typer.echo(f'audit: {count(ok, "run")} as recorded')
    if unknown:
        names = ', '.join(sorted(set(unknown)))
        typer.echo(f'audit: {count(len(unknown), "run")} left out, whose patterns are not installed: {names}')
    for problem in wrong:
        typer.echo(f'audit: {problem}', err=True)
    if wrong:
        raise typer.Exit(ExitCode.FAILED)
