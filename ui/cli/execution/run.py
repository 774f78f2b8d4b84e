"""hemicycle run: start a run in this process, and show it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from engine import Budget, Catalog, Conductor, InvalidInput, Pattern
from engine.records import RunId
from ui.cli.conductors import find_run, open_conductor
from ui.cli.execution.breakpoints import parse_breakpoint
from ui.cli.execution.follow import follow
from ui.cli.execution.prompt import prompt_for
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.inputs import describe_parameters, parse_parameters
from ui.cli.options import PatternName
from ui.cli.output.reporters import JsonReporter, ProgressReporter, QuietReporter, Reporter
from ui.cli.remote import find_pattern, server_at_work
from ui.cli.session import Session, with_session
from ui.formatting.parameters import describe_pattern

EPILOG = f"""Examples:

```
hemicycle run pipeline --task "Should a small team adopt event sourcing?"
hemicycle run pipeline --task - --set max_iterations=1 < question.md > answer.md
hemicycle run pipeline --task "..." --tag demo --json | jq .event.name
hemicycle run pipeline --replay last
hemicycle run pipeline --task "..." --paused --break "enter reviewing when loops == 2"
```

{CODES}"""

AGAIN = 'Reproducibility'
DEBUG = 'Debugging'
LIMITS = 'Budget'


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def run(  # noqa: PLR0913  (its arguments are the command's)
    pattern: PatternName,
    task: Annotated[
        str | None,
        typer.Option(
            help="The text to work on: short for the pattern's main text parameter. `-` reads it from"
            ' standard input.',
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            '--set',
            metavar='NAME=VALUE',
            help="A parameter's value; a list or an object as JSON, text as it is. Repeatable.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[str, typer.Option(help='Name shown in lists. Default: derived from the text.')] = '',
    tags: Annotated[
        list[str] | None, typer.Option('--tag', help='Tag of the run. Repeatable.', show_default=False)
    ] = None,
    private: Annotated[
        bool, typer.Option('--private', help='Only its author and administrators can see it.')
    ] = False,
    seed: Annotated[int, typer.Option(help='Random seed of the simulated model.')] = 0,
    models: Annotated[
        list[str] | None,
        typer.Option(
            '--model',
            metavar='[ROLE=]NAME',
            help='The model, for one role or for all others: `openai/gpt-5`, or several separated by commas,'
            ' the first choice first. Repeatable.',
            show_default=False,
        ),
    ] = None,
    efforts: Annotated[
        list[str] | None,
        typer.Option(
            '--effort',
            metavar='[ROLE=]LEVEL',
            help='Reasoning effort, for one role or for all others: `none`, `minimal`, `low`,'
            ' `medium`, `high`, `xhigh`, `max`, or a number of tokens. Repeatable.',
            show_default=False,
        ),
    ] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(help='Token limit.', rich_help_panel=LIMITS, show_default=False),
    ] = None,
    budget_cost: Annotated[
        float | None,
        typer.Option(help='Cost limit in dollars.', rich_help_panel=LIMITS, show_default=False),
    ] = None,
    budget_seconds: Annotated[
        float | None,
        typer.Option(
            help='Time limit in seconds; pauses and waiting for a person do not count.',
            rich_help_panel=LIMITS,
            show_default=False,
        ),
    ] = None,
    approvals: Annotated[
        str,
        typer.Option(
            metavar='marked|all|none',
            help='Which tools need approval: those that require it, all, or none.',
        ),
    ] = 'marked',
    record: Annotated[
        bool,
        typer.Option(
            '--record',
            envvar='HEMICYCLE_RECORD',
            help='Record model replies for `--replay`. Keys are not recorded.',
            rich_help_panel=AGAIN,
        ),
    ] = False,
    replay: Annotated[
        str,
        typer.Option(
            metavar='RUN',
            help='Take all model replies from the recording of a run, with no network. Options not given are'
            ' as in that run.',
            rich_help_panel=AGAIN,
            show_default=False,
        ),
    ] = '',
    paused: Annotated[
        bool,
        typer.Option(
            '--paused',
            help='Start paused in the first state.',
            rich_help_panel=DEBUG,
        ),
    ] = False,
    breaks: Annotated[
        list[str] | None,
        typer.Option(
            '--break',
            metavar='WHERE',
            help='Stop there: `enter STATE`, `leave STATE`, `edge A>B`, and `when CONDITION`, or both; see'
            ' `hemicycle break --help`. Repeatable.',
            rich_help_panel=DEBUG,
            show_default=False,
        ),
    ] = None,
    *,
    session: Session,
) -> None:
    """Start a run, and show it until it ends.

    Progress goes to standard error, the answer to standard output. The run is kept like any other: the
    dashboard shows it while it runs and afterwards. **Ctrl+C** cancels it; a second one releases it,
    and `hemicycle resume` continues it.
    """
    catalog, url = session.catalog, server_at_work(session)
    values = parse_parameters(asyncio.run(find_pattern(session, pattern, url)), task, sets or [])
    if not replay and not url:  # A server checks them itself.
        _check(catalog.pattern(pattern), values)
    by_role = parse_by_role(models or [], '--model', 'NAME')
    print_reach(catalog, by_role.values(), quiet=session.quiet or session.as_json)
    code = asyncio.run(
        _run(
            session,
            {
                'pattern': pattern,
                'parameters': values,
                'title': title,
                'tags': tags or [],
                'private': private,
                'seed': seed,
                'budget': Budget(tokens=budget_tokens, cost=budget_cost, seconds=budget_seconds),
                'models': by_role,
                'effort': parse_by_role(efforts or [], '--effort', 'LEVEL'),
                'approvals': approvals,
                'record': record,
                'replay': replay,
                'paused': paused,
                'breakpoints': [parse_breakpoint(text) for text in breaks or ()],
            },
        )
    )
    raise typer.Exit(code)


def print_reach(catalog: Catalog, names: Iterable[str], *, quiet: bool = False) -> None:
    """Before external agents start, warn about what they may reach and that they cost money."""
    for name in sorted(set(names)):
        agent = catalog.agents.get(name)
        if agent is not None and not agent.simulated and not agent.problem and not quiet:
            typer.echo(f'{name}: {agent.reach}', err=True)


def parse_by_role(chosen: list[str], option: str, what: str) -> dict[str, str]:
    """Parse values by role. Raises `InvalidInput`, naming the option."""
    values: dict[str, str] = {}
    for item in chosen:
        role, _, value = item.rpartition('=')
        if not value.strip() or role.strip() in values:
            raise InvalidInput({option: f'must be [ROLE=]{what}, once for each role, not {item!r}'})
        values[role.strip()] = value.strip()
    return values


def reporter_for(session: Session) -> Reporter:
    """Return the reporter that `--json` or `--quiet` selects; by default, one that shows progress."""
    if session.as_json:
        return JsonReporter()
    return QuietReporter() if session.quiet else ProgressReporter()


async def _run(session: Session, start: dict[str, Any]) -> ExitCode:
    reporter = reporter_for(session)
    async with open_conductor(session, pattern=start['pattern']) as conductor:
        if replay := start.pop('replay'):
            like = await conductor.info(await find_run(conductor, replay))
            start |= {
                'replay': like.id,
                'record': False,
                'parameters': {**like.parameters, **start['parameters']},
            }
        return await follow(conductor, _start(conductor, start), reporter, ask=prompt_for(reporter))


async def _start(conductor: Conductor, start: dict[str, Any]) -> RunId:
    return (await conductor.start(**start)).id


def _check(pattern: type[Pattern], values: dict[str, object]) -> None:
    """Reject bad values before a database is created, listing the possible values of each wrong one."""
    try:
        pattern.parse(values)
    except InvalidInput as error:
        possible = {name: bounds for name, bounds, _ in describe_parameters(describe_pattern(pattern))}
        raise InvalidInput(
            {
                name: f'{problem}; it takes: {possible[name]}' if name in possible else problem
                for name, problem in error.problems.items()
            }
        ) from None
