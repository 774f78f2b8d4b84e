"""hemicycle run: start a run in this process, and show it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from engine import Budget, Catalog, InvalidInput, Pattern
from ui.commands.breakpoints import breakpoint_of
from ui.commands.exits import CODES, Code
from ui.commands.inputs import parameters_of, takes
from ui.commands.options import SHOWN, AsJson, Database, Durability, Patterns
from ui.commands.progress import Progress
from ui.commands.prompt import asking
from ui.commands.session import find, running, settings_of, storage_of
from ui.commands.showers import JsonLines, Quiet
from ui.commands.watching import Shower, follow
from ui.settings import Settings, Storage

EPILOG = f"""Examples:

```
hemicycle run pipeline --task "Should a small team adopt event sourcing?"
hemicycle run pipeline --task - --set max_iterations=1 < question.md > answer.md
hemicycle run pipeline --task "..." --tag demo --json | jq .event.name
hemicycle run pipeline --replay last
hemicycle run pipeline --task "..." --paused --break "enter reviewing when loops == 2"
```

{CODES}"""

AGAIN = 'To run it again'
DEBUG = 'Stop and step: a terminal asks how it goes on; elsewhere `hemicycle step` and `resume` do'
LIMITS = 'Budget: it warns, asks the agents to wrap up, and ends'
Quietly = Annotated[
    bool, typer.Option('--quiet', '-q', help='Nothing but the answer.', rich_help_panel=SHOWN)
]
Pace = Annotated[
    float | None,
    typer.Option(
        '--pace',
        min=0,
        envvar='HEMICYCLE_PACE',
        metavar='N',
        help='Pieces of text a second that the simulated model streams; 0 is as fast as can be.',
        rich_help_panel=SHOWN,
        show_default=False,
    ),
]


def run(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    pattern: Annotated[
        str,
        typer.Argument(
            metavar='PATTERN', help='Its name; `hemicycle patterns` lists them.', show_default=False
        ),
    ],
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
            help="A parameter's value; a list or an object as JSON. Can be given again.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[str, typer.Option(help='Shown in lists; made from the text by default.')] = '',
    tags: Annotated[
        list[str] | None, typer.Option('--tag', help='To find it by. Can be given again.', show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="What the simulated model's chance begins with.")] = 0,
    models: Annotated[
        list[str] | None,
        typer.Option(
            '--model',
            metavar='[ROLE=]NAME',
            help='The model, for one role or for all others: `openai/gpt-5`, or several with commas between,'
            ' the first choice first. Can be given again.',
            show_default=False,
        ),
    ] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(help='Tokens that it may use.', rich_help_panel=LIMITS, show_default=False),
    ] = None,
    budget_cost: Annotated[
        float | None,
        typer.Option(help='Dollars that it may cost.', rich_help_panel=LIMITS, show_default=False),
    ] = None,
    budget_seconds: Annotated[
        float | None,
        typer.Option(
            help='Seconds that it may run; pauses and waiting for a person do not count.',
            rich_help_panel=LIMITS,
            show_default=False,
        ),
    ] = None,
    approvals: Annotated[
        str,
        typer.Option(
            metavar='marked|all|none',
            help='Which tools wait until a person allows a call: those that are marked so, all, or none.',
        ),
    ] = 'marked',
    record: Annotated[
        bool,
        typer.Option(
            '--record',
            envvar='HEMICYCLE_RECORD',
            help='Keep what models answer with the run, for `--replay`. Keys are not kept.',
            rich_help_panel=AGAIN,
        ),
    ] = False,
    replay: Annotated[
        str,
        typer.Option(
            metavar='RUN',
            help='Take the answers of all models from the recording of a run, with no network; what is not'
            ' given is as it was there.',
            rich_help_panel=AGAIN,
            show_default=False,
        ),
    ] = '',
    paused: Annotated[
        bool,
        typer.Option(
            '--paused',
            help='Enter the first state, and start no work yet.',
            rich_help_panel=DEBUG,
        ),
    ] = False,
    breaks: Annotated[
        list[str] | None,
        typer.Option(
            '--break',
            metavar='WHERE',
            help='Stop there: `enter STATE`, `leave STATE`, `edge A>B`, and `when CONDITION`, or both; see'
            ' `hemicycle break --help`. Can be given again.',
            rich_help_panel=DEBUG,
            show_default=False,
        ),
    ] = None,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    quiet: Quietly = False,
    as_json: AsJson = False,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Start a run, and show it until it ends.

    Progress goes to standard error, the answer to standard output. The run is kept like any other: the
    dashboard shows it while it goes on and afterwards. **Ctrl+C** cancels it; a second one lets go of it,
    and `hemicycle resume` goes on with it.
    """
    settings = settings_of(database, synchronous, patterns)
    catalog = catalog_of(settings, pace)
    made = catalog.pattern(pattern)
    values = parameters_of(made, task, sets or [])
    if not replay:
        _check(made, values)
    code = asyncio.run(
        _run(
            storage_of(context),
            settings,
            catalog,
            shower_of(as_json, quiet),
            {
                'pattern': pattern,
                'parameters': values,
                'title': title,
                'tags': tags or [],
                'seed': seed,
                'budget': Budget(tokens=budget_tokens, cost=budget_cost, seconds=budget_seconds),
                'models': models_of(models or []),
                'approvals': approvals,
                'record': record,
                'replay': replay,
                'paused': paused,
                'breakpoints': [breakpoint_of(text) for text in breaks or ()],
            },
        )
    )
    raise typer.Exit(code)


def catalog_of(settings: Settings, pace: float | None = None) -> Catalog:
    """What can be run, with the pace of simulated models set."""
    catalog = Catalog.load(settings.patterns, settings.endpoints)
    for model in catalog.models.values():
        if pace is not None and hasattr(model, 'pace'):
            model.pace = pace
    return catalog


def models_of(chosen: list[str]) -> dict[str, str]:
    """Models by role, as they were typed. Raises `InvalidInput`."""
    models: dict[str, str] = {}
    for item in chosen:
        role, _, name = item.rpartition('=')
        if not name.strip() or role.strip() in models:
            raise InvalidInput({'--model': f'must be [ROLE=]NAME, once for each role, not {item!r}'})
        models[role.strip()] = name.strip()
    return models


def shower_of(as_json: bool, quiet: bool) -> Shower:
    """How a run is shown."""
    if as_json:
        return JsonLines()
    return Quiet() if quiet else Progress()


async def _run(
    storage: Storage, settings: Settings, catalog: Catalog, shower: Shower, start: dict[str, Any]
) -> Code:
    async with running(storage, settings, catalog) as conductor:
        if replay := start.pop('replay'):
            like = await conductor.info(await find(conductor, replay))
            start |= {
                'replay': like.id,
                'record': False,
                'parameters': {**like.parameters, **start['parameters']},
            }
        return await follow(conductor, conductor.start(**start), shower, ask=asking(shower))


def _check(pattern: type[Pattern], values: dict[str, object]) -> None:
    """Refuse bad values before a database is made, and say what there is."""
    try:
        pattern.parse(values)
    except InvalidInput as error:
        raise InvalidInput({**error.problems, 'parameters': takes(pattern)}) from None
