"""hemicycle fork start, rerun and retry: start a run from another one, and show it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast

import typer

from engine import Conductor, InvalidInput
from engine.history import ForkOverrides, StepSource
from engine.records import Change, RunId, RunInfo
from ui.cli.conductors import find_run, open_conductor
from ui.cli.execution.follow import follow
from ui.cli.execution.prompt import prompt_for
from ui.cli.execution.run import print_reach, reporter_for
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.inputs import json_or_text, parse_by_role, parse_pairs, parse_parameters
from ui.cli.options import RunName
from ui.cli.output.errors import CommandError
from ui.cli.remote import find_pattern_of
from ui.cli.session import Session, with_session
from ui.formatting.forks import cost_sentence, turn_sentence

EPILOG = f"""Examples:

```
hemicycle fork start last --at 17 --model reviewer=ollama/qwen3
hemicycle fork start last --at 17 --set-memory /memory/iteration=0 --yes
hemicycle fork start last --at 17 --play recorded --plays reviewer=live
hemicycle fork rerun 3f9 --yes --quiet
hemicycle fork retry last
```

{CODES}"""
CHANGES = 'Changes'
REPLAY = 'Replay or run live'
Yes = Annotated[bool, typer.Option('--yes', '-y', help='Start without asking, even if it may cost money.')]
Title = Annotated[str, typer.Option(help="Name shown in lists. Default: the parent's.")]
Paused = Annotated[bool, typer.Option('--paused', help='Start paused.')]
Repeated = list[str] | None


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def start(
    run: RunName = 'last',
    *,
    at: Annotated[int, typer.Option('--at', min=0, help='Fork from this step; 0 is before the first.')],
    memory: Annotated[
        Repeated,
        typer.Option(
            '--set-memory', metavar='/memory/FIELD=VALUE', help='JSON or text.', rich_help_panel=CHANGES
        ),
    ] = None,
    models: Annotated[
        Repeated,
        typer.Option('--model', metavar='[ROLE=]NAME', help='As for `run`.', rich_help_panel=CHANGES),
    ] = None,
    efforts: Annotated[
        Repeated,
        typer.Option('--effort', metavar='[ROLE=]LEVEL', help='As for `run`.', rich_help_panel=CHANGES),
    ] = None,
    prompts: Annotated[
        Repeated,
        typer.Option(
            '--prompt',
            metavar='ROLE=FILE',
            help='Standing instructions for a role.',
            rich_help_panel=CHANGES,
        ),
    ] = None,
    tools: Annotated[
        Repeated,
        typer.Option(
            '--tools', metavar='ROLE=NAME,...', help='The tools of a role.', rich_help_panel=CHANGES
        ),
    ] = None,
    sets: Annotated[
        Repeated,
        typer.Option('--set', metavar='NAME=VALUE', help='A parameter.', rich_help_panel=CHANGES),
    ] = None,
    play: Annotated[
        str,
        typer.Option(
            '--play', metavar='recorded|live|simulated', help='How later steps run.', rich_help_panel=REPLAY
        ),
    ] = 'live',
    plays: Annotated[
        Repeated,
        typer.Option(
            '--plays',
            metavar='WHERE=HOW',
            help='Exception for a role, a state, or a step such as `@17`. Repeatable.',
            rich_help_panel=REPLAY,
        ),
    ] = None,
    before: Annotated[
        str,
        typer.Option(
            '--before',
            metavar='recorded|live|simulated',
            help='Whether earlier steps are copied from the recording, or run again from the first.',
            rich_help_panel=REPLAY,
        ),
    ] = 'recorded',
    beyond: Annotated[
        str,
        typer.Option(
            '--beyond',
            metavar='live|simulated|stop',
            help='What to do when the recording runs out.',
            rich_help_panel=REPLAY,
        ),
    ] = 'live',
    title: Title = '',
    paused: Paused = False,
    yes: Yes = False,
    session: Session,
) -> None:
    """Start a new run from a step of another run, with changes; the original is not touched.

    Replaying what is recorded costs nothing: `--play recorded` without changes gives the same journal. What
    the fork may cost is shown before it starts.
    """
    chosen = parse_by_role(models or [], '--model', 'NAME')
    thinking = parse_by_role(efforts or [], '--effort', 'LEVEL')
    named = parse_pairs('--prompt', prompts or ())
    instructions = {role: Path(file).read_text('utf-8-sig') for role, file in named}

    async def begin(conductor: Conductor, run_id: RunId) -> RunId:
        info = await conductor.info(run_id)
        pattern = await find_pattern_of(session, info)
        variation = ForkOverrides(  # the engine validates it
            changes=tuple(_change(path, value) for path, value in parse_pairs('--set-memory', memory or ())),
            models=chosen,
            effort=thinking,
            instructions=instructions,
            tools={
                role: [name.strip() for name in listed.split(',') if name.strip()]
                for role, listed in parse_pairs('--tools', tools or ())
            },
            parameters=parse_parameters(pattern, None, sets or ()),
            before=cast(StepSource, before),
            after=cast(StepSource, play),
            plays={where: cast(StepSource, how) for where, how in parse_pairs('--plays', plays or ())},
            beyond=cast(Any, beyond),
        )
        await print_turn(conductor, info, at)
        await confirm_cost(conductor, run_id, at, [variation], yes=yes)
        return await conductor.fork(run_id, at, title=title, paused=paused, overrides=variation)

    start_and_show(session, run, begin)


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def rerun(
    run: RunName = 'last', title: Title = '', paused: Paused = False, yes: Yes = False, *, session: Session
) -> None:
    """Run again from the first step with the same parameters, models, seed, options and budget."""

    async def begin(conductor: Conductor, run_id: RunId) -> RunId:
        await confirm_cost(conductor, run_id, 0, [ForkOverrides(before='live')], yes=yes)
        return await conductor.rerun(run_id, title=title, paused=paused)

    start_and_show(session, run, begin)


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def retry(
    run: RunName = 'last', title: Title = '', paused: Paused = False, yes: Yes = False, *, session: Session
) -> None:
    """Retry a failed or cancelled run from its last good step, in a fork."""

    async def begin(conductor: Conductor, run_id: RunId) -> RunId:
        last = await conductor.retry_at(run_id)
        await confirm_cost(conductor, run_id, last, [ForkOverrides()], yes=yes)
        return await conductor.retry(run_id, title=title, paused=paused)

    start_and_show(session, run, begin)


async def print_turn(conductor: Conductor, info: RunInfo, at: int) -> None:
    """Print which later steps a fork keeps with this one, if any. Raises `EngineError` for no step."""
    end = await conductor.turn_end(info, at) if at else 0
    if end != at:
        typer.echo(turn_sentence(at, end), err=True)


async def confirm_cost(
    conductor: Conductor,
    run: RunId,
    at: int,
    variations: Sequence[ForkOverrides],
    *,
    yes: bool,
) -> None:
    """If there is a cost, print the estimate and what agents may reach, and ask. Raises `CommandError`."""
    free, sentence = cost_sentence([await conductor.forecast(run, at, one) for one in variations])
    if free:
        return
    typer.echo(sentence, err=True)
    before = (await conductor.info(run)).models
    print_reach(conductor.catalog, [name for one in variations for name in {**before, **one.models}.values()])
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError('it may cost money: confirm with --yes')
    if not await asyncio.to_thread(typer.confirm, 'Start it?', err=True):
        raise CommandError('it was not started')


def start_and_show(
    session: Session,
    name: str,
    begin: Callable[[Conductor, RunId], Awaitable[RunId]],
) -> NoReturn:
    """Start the run that `begin` derives from the named one, and show it until it ends."""
    reporter = reporter_for(session)

    async def work() -> ExitCode:
        async with open_conductor(session) as conductor:
            run = await find_run(conductor, name)
            return await follow(conductor, begin(conductor, run), reporter, ask=prompt_for(reporter))

    raise typer.Exit(asyncio.run(work()))


def _change(path: str, value: str) -> Change:
    if not path.startswith('/'):
        raise InvalidInput({'--set-memory': f'must be /memory/FIELD=VALUE, not {path!r}'})
    return Change(op='replace', path=path, value=json_or_text(value))
