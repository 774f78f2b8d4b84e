"""hemicycle doctor: finds problems of this installation, and suggests fixes."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated

import typer

from engine import Catalog, EngineError
from engine.history import program_version
from engine.records import clip
from engine.workspace import Sandbox
from ui.app.settings import Settings, Storage
from ui.cli.exit_codes import ExitCode
from ui.cli.operation.team_checks import MAX_NAMED, Finding, Level, examine_team
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.formatting.values import byte_size, count, describe_tools

EPILOG = """Examples:

```
hemicycle doctor
hemicycle doctor --call --json | jq 'select(.level != "ok")'
```

Exit code: **0** nothing is broken · **1** something is"""
INCOMPLETE = (
    '`hemicycle runs audit RUN` names the first: restore a backup, or fork the run from a step before it.'
)
LOW, TIGHT = 2_000_000_000, 200_000_000
"""Free bytes on the disk below which space is low, and below which runs will soon stop."""


@with_session('patterns', 'as_json', 'database', 'files')
def doctor(
    call: Annotated[
        bool,
        typer.Option(
            '--call',
            help='Also test endpoints, MCP servers, mail server and login; may cost a fraction of a cent.',
        ),
    ] = False,
    *,
    session: Session,
) -> None:
    """Check this installation: storage, sandbox, plug-ins, accounts, mail, schedules; suggest fixes.

    Nothing is changed, and nothing is sent anywhere unless `--call` or `--files` is given.
    """
    broken = False

    async def work() -> None:
        nonlocal broken
        async for finding in _examine(session, call):
            broken = broken or finding.level == 'broken'
            if session.as_json:
                print_json(level=finding.level, about=finding.about, text=finding.text, remedy=finding.remedy)
            else:
                typer.echo(strip_control(f'{finding.level:8} {finding.about}: {finding.text}'))
                if finding.remedy:
                    typer.echo(strip_control(f'{"":8} {finding.remedy}'))

    asyncio.run(work())
    if broken:
        raise typer.Exit(ExitCode.FAILED)


async def _examine(session: Session, call: bool) -> AsyncIterator[Finding]:
    storage, settings = session.storage, session.settings
    yield Finding('ok', 'Hemicycle', f'{program_version()}, Python {platform.python_version()}')
    for finding in (*_folder(settings.home), *_disk(settings.home), _graphviz()):
        yield finding
    yield await _sandbox(Sandbox.of_environment())
    for finding in (*_database(storage, settings), *_files(storage, settings)):
        yield finding
    try:
        catalog = session.catalog
    except EngineError as error:
        yield Finding('broken', 'Configuration', str(error))
        return
    try:
        for finding in (*_plugins(catalog), *_configuration(catalog)):
            yield finding
        if call:
            async for finding in _calls(catalog):
                yield finding
        async for finding in examine_team(storage, settings, catalog, call):
            yield finding
    finally:
        await catalog.close()


def _folder(home: Path) -> Iterator[Finding]:
    if not home.exists():
        yield Finding('ok', 'Data folder', f'{home} does not exist yet: the first run creates it')
    elif not os.access(home, os.W_OK | os.X_OK):
        yield Finding('broken', 'Data folder', f'{home} cannot be written', 'Make it writable for this user.')
    elif stat.S_IMODE(home.stat().st_mode) & 0o077:
        yield Finding(
            'warning', 'Data folder', f'other users of this machine can read {home}', f'chmod 700 {home}'
        )
    else:
        yield Finding('ok', 'Data folder', str(home))


def _disk(home: Path) -> Iterator[Finding]:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    level: Level = 'broken' if free < TIGHT else 'warning' if free < LOW else 'ok'
    remedy = '' if level == 'ok' else 'Free some space, or set a retention policy in endpoints.toml.'
    yield Finding(level, 'Disk', f'{byte_size(free)} free', remedy)


def _graphviz() -> Finding:
    if dot := shutil.which('dot'):
        return Finding('ok', 'Diagrams', f'Graphviz is {dot}')
    return Finding('broken', 'Diagrams', 'Graphviz is missing', 'apt install graphviz')


async def _sandbox(sandbox: Sandbox) -> Finding:
    if sandbox.unsafe:
        text = 'HEMICYCLE_UNSAFE_COMMANDS is on: agents run commands with all your permissions'
        return Finding('warning', 'Sandbox', text, 'Install bubblewrap, and unset the variable.')
    if problem := await sandbox.problem():
        return Finding('warning', 'Sandbox', f'agents cannot run commands. {problem}')
    return Finding('ok', 'Sandbox', 'bubblewrap works')


def _database(storage: Storage, settings: Settings) -> Iterator[Finding]:
    try:
        file = storage.file(settings)
        if file and not file.exists():
            yield Finding('ok', 'Database', f'{file} does not exist yet: the first run creates it')
            return
        summary, lacking = storage.inspect(settings), storage.incomplete_runs(settings)
    except EngineError as error:
        yield Finding('broken', 'Database', str(error))
        return
    runs = f'{count(summary.runs, "run")}, {count(summary.steps, "step")}'
    read = f', {byte_size(file.stat().st_size)}; every page was read' if file else ''
    yield Finding('ok', 'Database', f'{storage.name(settings)}: {runs}{read}')
    if lacking:
        named = ', '.join(f'{run} ({count(lacks, "step")})' for run, lacks in lacking.items())
        yield Finding('broken', 'Runs', f'steps are missing in {clip(named, MAX_NAMED)}', INCOMPLETE)
    locks = storage.locks(settings)
    holders = locks.servers()
    yield Finding(
        'ok', 'Server', f'at {", ".join(holders)}' if holders else 'no server is using this database'
    )
    if dead := locks.dead_owners():
        text = f'{count(len(dead), "process", "processes")} ended without releasing runs'
        yield Finding('warning', 'Interrupted runs', text, '`hemicycle serve` or `resume` continues them.')


def _files(storage: Storage, settings: Settings) -> Iterator[Finding]:
    """Report where the agents' files are; test shared storage."""
    try:
        remote = storage.files(settings)
        if remote is None:
            yield Finding('ok', 'Files', f'{settings.workspaces}: on this machine only')
            return
        remote.check()
    except EngineError as error:
        yield Finding('broken', 'Files', str(error), 'See --files (HEMICYCLE_FILES) and the variables AWS_*')
        return
    yield Finding('ok', 'Files', f'{remote.name}: a file was written, read and removed')


def _plugins(catalog: Catalog) -> Iterator[Finding]:
    for fault in catalog.faults:
        yield Finding('broken', 'Plug-in', f'{fault.path}:{fault.line}: {fault.problem}')
    patterns, tools = count(len(catalog.patterns), 'pattern'), count(len(catalog.tools), 'tool')
    yield Finding('ok', 'Plug-ins', f'{patterns} and {tools} loaded')


def _configuration(catalog: Catalog) -> Iterator[Finding]:
    file = catalog.file
    if file is None or not file.exists():
        yield Finding('ok', 'Configuration', f'{file} does not exist: defaults are used')
    elif stat.S_IMODE(file.stat().st_mode) & 0o022:
        yield Finding('warning', 'Configuration', f'other users can change {file}', f'chmod 600 {file}')
    else:
        yield Finding('ok', 'Configuration', str(file))
    usable = [info for info in catalog.registry.endpoint_infos() if not info.problem]
    for name, problem in {**catalog.configuration.missing, **catalog.configuration.missing_servers}.items():
        yield Finding('warning', name, problem)
    if usable:
        yield Finding('ok', 'Models', f'endpoints: {", ".join(info.endpoint for info in usable)}')
    else:
        yield Finding(
            'ok',
            'Models',
            'no endpoint is configured: the scripted model plays all agents',
            'Set the key of a provider, such as ANTHROPIC_API_KEY, or connect one on the settings page.',
        )
    if servers := catalog.mcp.names:
        yield Finding('ok', 'MCP servers', ', '.join(servers))


async def _calls(catalog: Catalog) -> AsyncIterator[Finding]:
    for endpoint in await catalog.registry.health():
        name, problem = endpoint.endpoint, endpoint.problem
        level: Level = 'broken' if problem else 'ok'
        fine = f'{endpoint.called} answered a call' if endpoint.called else 'answers'
        yield Finding(level, name, problem.removeprefix(f'{name}: ') or fine)
    for server in await catalog.mcp.health():
        level = 'broken' if server.problem else 'warning' if server.unusable else 'ok'
        text = server.problem.removeprefix(f'MCP server {server.server}: ')
        yield Finding(level, server.server, text or describe_tools(server.tools, server.unusable))
