"""hemicycle runs artifact: list, show or save the named results that a run's agents made."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from engine import Conductor
from engine.history import artifacts_of, whole_value
from engine.records import RunId, View
from ui.cli.conductors import find_run, open_reader
from ui.cli.history.show import AtStep
from ui.cli.options import RunName
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

EPILOG = """Examples:

```
hemicycle runs artifact list last
hemicycle runs artifact show 3f9 outline
hemicycle runs artifact show 3f9 draft --agent writer --at 12 > draft.md
hemicycle runs artifact save 3f9 results/
```"""
AgentName = Annotated[
    str,
    typer.Option(
        metavar='AGENT', help='Only those of this agent; required if several have one of that name.'
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A named result of an agent, as its run has it."""

    agent: str
    name: str
    item: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Its value: as text, or as JSON."""
        value = self.item.get('value')
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)

    @property
    def file(self) -> Path:
        """Its file, in a folder of its agent: Markdown for text, JSON for any other value.

        Both names come from the run, which may have been imported: they never lead out of the folder.
        """
        kind = 'md' if isinstance(self.item.get('value'), str) else 'json'
        return Path(_file_name(self.agent, 'agent'), f'{_file_name(self.name, "artifact")}.{kind}')


def _file_name(text: str, default: str) -> str:
    return re.sub(r'[^\w.-]+', '_', text).lstrip('.') or default


@with_session('as_json', 'database', 'files', 'server')
def list_artifacts(
    run: RunName = 'last', agent: AgentName = '', at: AtStep = None, *, session: Session
) -> None:
    """List the named results that a run's agents made."""

    async def work() -> list[Artifact]:
        async with open_reader(session) as conductor:
            return (await _find(conductor, run, agent, '', at))[1]

    artifacts = asyncio.run(work())
    for artifact in artifacts:
        _print(artifact, session.as_json)
    if not artifacts and not session.as_json:
        typer.echo('there are no artifacts')


@with_session('as_json', 'database', 'files', 'server')
def show(
    run: RunName,
    name: Annotated[str, typer.Argument(metavar='NAME', help='The artifact.')],
    agent: AgentName = '',
    at: AtStep = None,
    *,
    session: Session,
) -> None:
    """Print a named result."""

    async def work() -> Artifact:
        async with open_reader(session) as conductor:
            run_id, chosen = await _find(conductor, run, agent, name, at)
            if len(chosen) > 1:
                owners = ', '.join(artifact.agent for artifact in chosen)
                raise CommandError(f'--agent: several agents have an artifact {name!r}: {owners}')
            return await _load(conductor, run_id, chosen[0])

    artifact = asyncio.run(work())
    if session.as_json:
        _print(artifact, True)
    else:
        typer.echo(strip_control(artifact.text))


@with_session('database', 'files', 'server')
def save(
    run: RunName,
    folder: Annotated[
        Path,
        typer.Argument(metavar='FOLDER', file_okay=False, help='Write them to this folder.'),
    ],
    agent: AgentName = '',
    at: AtStep = None,
    *,
    session: Session,
) -> None:
    """Save the named results to a folder, in a folder for each agent."""

    async def work() -> None:
        async with open_reader(session) as conductor:
            run_id, chosen = await _find(conductor, run, agent, '', at)
            for artifact, file in zip(chosen, distinct_files(chosen), strict=True):
                await _save(await _load(conductor, run_id, artifact), folder / file)

    asyncio.run(work())


async def _find(
    conductor: Conductor, run: str, agent: str, name: str, at: int | None
) -> tuple[RunId, list[Artifact]]:
    """Return the run, and its artifacts of this agent and name. Raises `CommandError`."""
    run_id = await find_run(conductor, run)
    return run_id, _choose(_collect(await conductor.view(run_id, at)), agent, name)


def _collect(view: View) -> list[Artifact]:
    return [Artifact(agent=agent, name=name, item=item) for (agent, name), item in artifacts_of(view).items()]


def _choose(artifacts: list[Artifact], agent: str, name: str) -> list[Artifact]:
    """Return the artifacts of this agent and name. Raises `CommandError`."""
    owned = [
        artifact
        for artifact in artifacts
        if agent in ('', artifact.agent) or agent in artifact.agent.split('.')
    ]
    if agent and not owned:
        owners = ', '.join(dict.fromkeys(artifact.agent for artifact in artifacts)) or 'none'
        raise CommandError(f'--agent: {agent!r} has no artifacts; agents that have some: {owners}')
    chosen = [artifact for artifact in owned if name in ('', artifact.name)]
    if name and not chosen:
        listed = ', '.join(dict.fromkeys(artifact.name for artifact in owned)) or 'none'
        raise CommandError(f'NAME: there is no artifact {name!r}; available: {listed}')
    return chosen


async def _load(conductor: Conductor, run: RunId, artifact: Artifact) -> Artifact:
    """Return an artifact with its whole value, of which the run's steps may have only the beginning."""
    value = await whole_value(conductor.workspaces, run, artifact.item)
    return replace(artifact, item={**artifact.item, 'value': value})


def distinct_files(artifacts: list[Artifact]) -> list[Path]:
    """Return a file for each artifact; where two would share one, the later is numbered."""
    files: list[Path] = []
    taken: set[str] = set()
    for artifact in artifacts:
        file, number = artifact.file, 2
        while str(file).casefold() in taken:  # Some file systems ignore case.
            file, number = artifact.file.with_stem(f'{artifact.file.stem}-{number}'), number + 1
        taken.add(str(file).casefold())
        files.append(file)
    return files


async def _save(artifact: Artifact, target: Path) -> None:
    """Write an artifact to a file, and print its name."""
    await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
    await asyncio.to_thread(target.write_text, artifact.text, 'utf-8')
    typer.echo(strip_control(str(target)))


def _print(artifact: Artifact, as_json: bool) -> None:
    size = int(artifact.item.get('size', 0))
    by = str(artifact.item.get('by') or '')
    if as_json:
        print_json(
            agent=artifact.agent, name=artifact.name, by=by, size=size, value=artifact.item.get('value')
        )
    else:
        author = f'by {by}' if by else 'written by the agent'
        typer.echo(strip_control(f'{artifact.agent}  {artifact.name}  {size:,} characters, {author}'))
