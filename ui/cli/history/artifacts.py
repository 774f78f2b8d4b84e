"""hemicycle artifacts: list, print or save the named results that a run's agents made."""

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
hemicycle artifacts last
hemicycle artifacts 3f9 outline
hemicycle artifacts 3f9 draft --agent writer --at 12 > draft.md
hemicycle artifacts 3f9 --save results/
```"""


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
def artifacts(  # noqa: PLR0913  (its arguments are the command's)
    run: RunName = 'last',
    name: Annotated[
        str,
        typer.Argument(
            metavar='NAME', help='The artifact to print; without it, list them.', show_default=False
        ),
    ] = '',
    agent: Annotated[
        str,
        typer.Option(
            metavar='AGENT',
            help='Only those of this agent; required if several have one of that name.',
            show_default=False,
        ),
    ] = '',
    at: AtStep = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar='FOLDER', file_okay=False, help='Write them to this folder.', show_default=False
        ),
    ] = None,
    *,
    session: Session,
) -> None:
    """List the named results that a run's agents made, print one, or save them to a folder."""

    async def work() -> None:
        async with open_reader(session) as conductor:
            run_id = await find_run(conductor, run)
            chosen = _choose(_collect(await conductor.view(run_id, at)), agent, name)
            if name and len(chosen) > 1:
                owners = ', '.join(artifact.agent for artifact in chosen)
                raise CommandError(f'--agent: several agents have an artifact {name!r}: {owners}')
            files = distinct_files(chosen)
            for artifact, file in zip(chosen, files, strict=True):
                if save is not None:
                    await _save(await _load(conductor, run_id, artifact), save / file)
                elif name and not session.as_json:
                    typer.echo(strip_control((await _load(conductor, run_id, artifact)).text))
                else:
                    _print(artifact, session.as_json)
            if not chosen and not session.as_json:
                typer.echo('there are no artifacts')

    asyncio.run(work())


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
