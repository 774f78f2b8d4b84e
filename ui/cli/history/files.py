"""hemicycle runs file: list, save or compare the files that a run's agents made."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from engine import Conductor
from engine.records import RunId
from engine.workspace import FileVersion, format_patch, is_own_work
from ui.cli.conductors import find_run, open_reader
from ui.cli.history.show import AtStep
from ui.cli.options import RunName
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.files import size
from ui.formatting.plain_text import strip_control
from ui.web.replay.history import History

EPILOG = """Examples:

```
hemicycle runs file list last
hemicycle runs file save 3f9 result/ --agent coder1 --at 12
hemicycle runs file diff 3f9 | git apply
```"""

AgentName = Annotated[
    str,
    typer.Option(metavar='AGENT', help='The agent; required if several have a folder.'),
]


@with_session('as_json', 'database', 'files', 'server')
def list_files(run: RunName = 'last', agent: AgentName = '', at: AtStep = None, *, session: Session) -> None:
    """List the files of a run's agent."""

    async def work() -> None:
        async with open_reader(session) as conductor:
            _, listed = await _files(conductor, run, agent, at)
        if session.as_json:
            print_json(files=[asdict(file) for file in listed])
            return
        for file in listed:
            note = f'link to {file.target}' if file.target is not None else size(file.size)
            typer.echo(strip_control(f'{file.path}  {note}'))

    asyncio.run(work())


@with_session('database', 'files', 'server')
def save(
    run: RunName,
    folder: Annotated[
        Path,
        typer.Argument(metavar='FOLDER', file_okay=False, help='Write the files to this folder.'),
    ],
    agent: AgentName = '',
    at: AtStep = None,
    *,
    session: Session,
) -> None:
    """Save the files of a run's agent to a folder; links are left out."""

    async def work() -> None:
        async with open_reader(session) as conductor:
            run_id, listed = await _files(conductor, run, agent, at)
            for file in listed:
                if file.target is not None:
                    typer.echo(strip_control(f'skipped: {file.path} is a link'), err=True)
                    continue
                content = await conductor.workspaces.content(run_id, file.digest)
                await asyncio.to_thread(_write, folder, file.path, content, file.executable)

    asyncio.run(work())


@with_session('database', 'files', 'server')
def diff(run: RunName = 'last', agent: AgentName = '', at: AtStep = None, *, session: Session) -> None:
    """Print as a patch what an agent changed in the project it was given."""

    async def find() -> str:
        async with open_reader(session) as conductor:
            run_id, history, folder = await _folder(conductor, run, agent, at)
            snapshot = history.versions[folder][-1].snapshot
            return format_patch(await conductor.workspaces.diff(run_id, history.baseline(folder), snapshot))

    typer.echo(asyncio.run(find()), nl=False)


async def _files(
    conductor: Conductor, name: str, agent: str, at: int | None
) -> tuple[RunId, list[FileVersion]]:
    """Return the run, and the files in the selected folder. Raises `CommandError`."""
    run, history, folder = await _folder(conductor, name, agent, at)
    files = await conductor.workspaces.files(run, history.versions[folder][-1].snapshot)
    return run, [file for file in files if is_own_work(file)]


async def _folder(conductor: Conductor, name: str, agent: str, at: int | None) -> tuple[RunId, History, str]:
    """Return the run, its history and the selected folder. Raises `CommandError`."""
    run = await find_run(conductor, name)
    history = History()
    for step in await conductor.transitions(run, until=at):
        history.add(step)
    folders = sorted(history.versions)
    chosen = [folder for folder in folders if agent in ('', folder)] or [
        folder for folder in folders if agent in folder.split('.')
    ]
    if len(chosen) != 1:
        listed = ', '.join(folders)
        raise CommandError(f'--agent: name one of {listed}' if folders else f'run {run} has no files')
    return run, history, chosen[0]


def _write(root: Path, path: str, content: bytes, executable: bool) -> None:
    target = root / path
    if not target.resolve().is_relative_to(root.resolve()):
        raise CommandError(f'{path} is outside of {root}')
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    if executable:
        target.chmod(0o755)
