"""hemicycle run: start a run in this process, and show it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from engine import Catalog, Conductor, InvalidInput, Pattern
from engine.models import StubFile
from engine.records import Launch, RunId
from engine.runtime import check_stubs
from ui.cli.conductors import find_run, open_conductor
from ui.cli.execution.follow import follow
from ui.cli.execution.launch_options import OWN, with_launch
from ui.cli.execution.prompt import prompt_for
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.inputs import describe_parameters, parse_parameters
from ui.cli.options import PatternName
from ui.cli.output.reporters import JsonReporter, ProgressReporter, QuietReporter, Reporter
from ui.cli.remote import find_pattern, server_at_work
from ui.cli.session import Session, with_session
from ui.formatting.fields.parameters import describe_pattern

EPILOG = f"""Examples:

```
hemicycle run pipeline --task "Should a small team adopt event sourcing?"
hemicycle run pipeline --task - --set max_iterations=1 < question.md > answer.md
hemicycle run pipeline --task "..." --tag demo --json | jq .event.name
hemicycle run builder --task "..." --file notes.md --file data=input
hemicycle run pipeline --replay last
hemicycle run pipeline --task "..." --stubs answers.stubs.yaml
hemicycle run pipeline --task "..." --paused --break "enter reviewing when loops == 2"
```

{CODES}"""


@with_launch(*OWN)
@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def run(
    pattern: PatternName,
    task: Annotated[
        str | None,
        typer.Option(
            help="The text to work on: short for the pattern's main text parameter. `-` reads it from"
            ' standard input.'
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            '--set',
            metavar='NAME=VALUE',
            help="A parameter's value; a list or an object as JSON, text as it is. Repeatable.",
        ),
    ] = None,
    *,
    launch: dict[str, Any],
    session: Session,
) -> None:
    """Start a run, and show it until it ends.

    Progress goes to standard error, the answer to standard output. The run is kept like any other: the
    dashboard shows it while it runs and afterwards. **Ctrl+C** cancels it; a second one releases it,
    and `hemicycle resume` continues it.
    """
    catalog, url, version = session.catalog, server_at_work(session), launch.get('version', '')
    values = parse_parameters(
        asyncio.run(find_pattern(session, pattern, url, version=version)), task, sets or []
    )
    stubs: StubFile | None = launch.get('stubs')
    with stubs.located() if stubs is not None else nullcontext():
        if not launch.get('replay') and not url:  # A server checks them itself.
            _check(catalog.pattern(pattern, version), values, stubs or {})
        print_reach(catalog, launch.get('models', {}).values(), quiet=session.quiet or session.as_json)
        code = asyncio.run(_run(session, {**launch, 'pattern': pattern, 'parameters': values}))
    raise typer.Exit(code)


def print_reach(catalog: Catalog, names: Iterable[str], *, quiet: bool = False) -> None:
    """Before external agents start, warn about what they may reach and that they cost money."""
    for name in sorted(set(names)):
        agent = catalog.agents.get(name)
        if agent is not None and not agent.simulated and not agent.problem and not quiet:
            typer.echo(f'{name}: {agent.reach}', err=True)


def reporter_for(session: Session) -> Reporter:
    """Return the reporter that `--json` or `--quiet` selects; by default, one that shows progress."""
    if session.as_json:
        return JsonReporter()
    return QuietReporter() if session.quiet else ProgressReporter()


async def _run(session: Session, start: dict[str, Any]) -> ExitCode:
    reporter = reporter_for(session)
    async with open_conductor(session, pattern=start['pattern']) as conductor:
        if start.get('replay'):
            like = await conductor.info(await find_run(conductor, start['replay']))
            parameters = {**like.parameters, **start['parameters']}
            start |= {'replay': like.id, 'record': False, 'parameters': parameters}
        return await follow(conductor, _start(conductor, start), reporter, ask=prompt_for(reporter))


async def _start(conductor: Conductor, start: dict[str, Any]) -> RunId:
    return (await conductor.start(Launch.parse(start))).id


def _check(pattern: type[Pattern], values: dict[str, object], stubs: Mapping[str, Any]) -> None:
    """Reject bad values before a database is created, listing the possible values of each wrong one."""
    try:
        workflow = pattern(pattern.parse(values))
    except InvalidInput as error:
        possible = {name: bounds for name, bounds, _ in describe_parameters(describe_pattern(pattern))}
        raise InvalidInput(
            {
                name: f'{problem}; it takes: {possible[name]}' if name in possible else problem
                for name, problem in error.problems.items()
            }
        ) from None
    check_stubs(workflow, stubs)
