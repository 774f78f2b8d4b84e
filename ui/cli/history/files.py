"""hemicycle files and diff: list, save or compare the files that a run's agents made."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from engine import Conductor
from engine.records import RunId
from engine.workspace import format_patch, is_own_work
from ui.cli.conductors import find_run, open_reader
from ui.cli.history.show import AtStep
from ui.cli.options import RunName
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.files import size
from ui.formatting.plain_text import strip_control
from ui.replay.history import History

FILES = """Examples:

```
hemicycle files last
hemicycle files 3f9 --save result/
hemicycle files 3f9 --agent coder1 --at 12
```"""
DIFF = """Examples:

```
hemicycle diff last
hemicycle diff 3f9 | git apply
hemicycle diff 3f9 --agent coder1
```"""

AgentName = Annotated[
    str,
    typer.Option(metavar='AGENT', help='The agent; required if several have a folder.', show_default=False),
]


@with_session('as_json', 'database', 'files', 'server')
def files(
    run: RunName = 'last',
    agent: AgentName = '',
    at: AtStep = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar='FOLDER', file_okay=False, help='Write the files to this folder.', show_default=False
        ),
    ] = None,
    *,
    session: Session,
) -> None:
    """List the files of a run's agent, or save them to a folder."""

    async def find() -> None:
        async with open_reader(session) as conductor:
            run_id, history, folder = await _folder(conductor, run, agent, at)
            snapshot = history.versions[folder][-1].snapshot
            listed = [
                file for file in await conductor.workspaces.files(run_id, snapshot) if is_own_work(file)
            ]
            if session.as_json:
                print_json(files=[asdict(file) for file in listed])
            for file in listed:
                if save is None and not session.as_json:
                    note = f'link to {file.target}' if file.target is not None else size(file.size)
                    typer.echo(strip_control(f'{file.path}  {note}'))
                if save is not None and file.target is None:
                    content = await conductor.workspaces.content(run_id, file.digest)
                    await asyncio.to_thread(_write, save, file.path, content, file.executable)
                elif save is not None:
                    typer.echo(strip_control(f'skipped: {file.path} is a link'), err=True)

    asyncio.run(find())


@with_session('database', 'files', 'server')
def diff(run: RunName = 'last', agent: AgentName = '', at: AtStep = None, *, session: Session) -> None:
    """Print as a patch what an agent changed in the project it was given."""

    async def find() -> str:
        async with open_reader(session) as conductor:
            run_id, history, folder = await _folder(conductor, run, agent, at)
            snapshot = history.versions[folder][-1].snapshot
            return format_patch(await conductor.workspaces.diff(run_id, history.baseline(folder), snapshot))

    typer.echo(asyncio.run(find()), nl=False)


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
