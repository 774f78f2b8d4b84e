"""hemicycle fork, rerun and retry: start a run from another one, and show it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from engine import Catalog, Conductor, RunId, Variation
from ui.commands.exits import CODES, Code, Refused
from ui.commands.options import AsJson, Database, Durability, Patterns, RunName
from ui.commands.prompt import asking
from ui.commands.run import Pace, Quietly, catalog_of, models_of, shower_of
from ui.commands.session import find, running, settings_of, storage_of
from ui.commands.varying import variation_of
from ui.commands.watching import Shower, follow
from ui.forks.cost import told
from ui.settings import Settings, Storage

FORK = f"""Examples:

```
hemicycle fork last --at 17 --model reviewer=ollama/qwen3
hemicycle fork last --at 17 --set-memory /memory/iteration=0 --yes
hemicycle fork last --at 17 --play recorded --plays reviewer=live
```

{CODES}"""
RERUN = f"""Examples:

```
hemicycle rerun last
hemicycle rerun 3f9 --yes --quiet
```

{CODES}"""
RETRY = f"""Examples:

```
hemicycle retry last
```

{CODES}"""
CHANGED = 'What is otherwise'
PLAYED = 'What is played from the journal, and what is done anew'
Yes = Annotated[bool, typer.Option('--yes', '-y', help='Start also what may cost money, without a question.')]
Title = Annotated[str, typer.Option(help="Shown in lists; its parent's by default.")]
Paused = Annotated[bool, typer.Option('--paused', help='Start no work yet.')]
Several = list[str] | None


def fork(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    at: Annotated[int, typer.Option('--at', min=0, help='The step; 0 is before the first.')] = ...,  # type: ignore[assignment]
    memory: Annotated[
        Several,
        typer.Option(
            '--set-memory', metavar='/memory/FIELD=VALUE', help='JSON, or a text.', rich_help_panel=CHANGED
        ),
    ] = None,
    models: Annotated[
        Several, typer.Option('--model', metavar='[ROLE=]NAME', help='As for `run`.', rich_help_panel=CHANGED)
    ] = None,
    prompts: Annotated[
        Several,
        typer.Option(
            '--prompt',
            metavar='ROLE=FILE',
            help='Standing instructions for a role.',
            rich_help_panel=CHANGED,
        ),
    ] = None,
    tools: Annotated[
        Several,
        typer.Option(
            '--tools', metavar='ROLE=NAME,...', help='The tools of a role.', rich_help_panel=CHANGED
        ),
    ] = None,
    sets: Annotated[
        Several,
        typer.Option('--set', metavar='NAME=VALUE', help='A parameter.', rich_help_panel=CHANGED),
    ] = None,
    play: Annotated[
        str,
        typer.Option(
            '--play', metavar='recorded|live|simulated', help='The steps after it.', rich_help_panel=PLAYED
        ),
    ] = 'live',
    plays: Annotated[
        Several,
        typer.Option(
            '--plays',
            metavar='WHERE=HOW',
            help='Otherwise for a role, a state, or a step such as `@17`. Can be given again.',
            rich_help_panel=PLAYED,
        ),
    ] = None,
    before: Annotated[
        str,
        typer.Option(
            '--before',
            metavar='recorded|live|simulated',
            help='The steps before it: taken over, or done anew from the first.',
            rich_help_panel=PLAYED,
        ),
    ] = 'recorded',
    beyond: Annotated[
        str,
        typer.Option(
            '--beyond',
            metavar='live|simulated|stop',
            help='Where nothing is recorded.',
            rich_help_panel=PLAYED,
        ),
    ] = 'live',
    title: Title = '',
    paused: Paused = False,
    yes: Yes = False,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    quiet: Quietly = False,
    as_json: AsJson = False,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Start a new run from a step of another, which stays as it is; with something changed, if you like.

    What is recorded is played for nothing: `--play recorded` with no change leads to the same journal. What
    it may cost is said before it starts.
    """
    settings = settings_of(database, synchronous, patterns)
    catalog, chosen = catalog_of(settings, pace), models_of(models or [])

    async def begun(conductor: Conductor, found: RunId) -> RunId:
        info = await conductor.info(found)
        variation = variation_of(
            catalog.pattern(info.pattern),
            memory=memory or (), models=chosen, prompts=prompts or (), tools=tools or (), sets=sets or (),
            before=before, play=play, plays=plays or (), beyond=beyond,
        )  # fmt: skip
        await _asked(conductor, found, at, variation, yes)
        return await conductor.fork(found, at, title=title, paused=paused, variation=variation)

    work = _started(storage_of(context), settings, catalog, shower_of(as_json, quiet), run, begun)
    raise typer.Exit(asyncio.run(work))


def rerun(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    title: Title = '',
    paused: Paused = False,
    yes: Yes = False,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    quiet: Quietly = False,
    as_json: AsJson = False,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Start a run over: the same parameters, models, seed, options and budget, from the first step."""
    settings = settings_of(database, synchronous, patterns)

    async def begun(conductor: Conductor, found: RunId) -> RunId:
        await _asked(conductor, found, 0, Variation(before='live'), yes)
        return await conductor.rerun(found, title=title, paused=paused)

    shower = shower_of(as_json, quiet)
    work = _started(storage_of(context), settings, catalog_of(settings, pace), shower, run, begun)
    raise typer.Exit(asyncio.run(work))


def retry(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    title: Title = '',
    paused: Paused = False,
    yes: Yes = False,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    quiet: Quietly = False,
    as_json: AsJson = False,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Fork a run that failed, or was cancelled, at its last good step: what failed is made again."""
    settings = settings_of(database, synchronous, patterns)

    async def begun(conductor: Conductor, found: RunId) -> RunId:
        await _asked(conductor, found, await conductor.retry_at(found), Variation(), yes)
        return await conductor.retry(found, title=title, paused=paused)

    shower = shower_of(as_json, quiet)
    work = _started(storage_of(context), settings, catalog_of(settings, pace), shower, run, begun)
    raise typer.Exit(asyncio.run(work))


async def _asked(conductor: Conductor, run: RunId, at: int, variation: Variation, yes: bool) -> None:
    """Say what it may cost; ask, where it may cost something. Raises `Refused`."""
    free, sentence = told([await conductor.forecast(run, at, variation)])
    if free:
        return
    typer.echo(sentence, err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refused('it may cost money: start it with --yes')
    if not await asyncio.to_thread(typer.confirm, 'Start it?', err=True):
        raise Refused('it was not started')


async def _started(  # noqa: PLR0913  (what the commands have in common)
    storage: Storage,
    settings: Settings,
    catalog: Catalog,
    shower: Shower,
    name: str,
    begun: Callable[[Conductor, RunId], Awaitable[RunId]],
) -> Code:
    async with running(storage, settings, catalog) as conductor:
        run = await find(conductor, name)
        return await follow(conductor, begun(conductor, run), shower, ask=asking(shower))
