"""hemicycle fork variants: several forks of a run at once, each with changes of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError

from engine import Conductor, InvalidInput, Status
from engine.history import ForkOverrides
from engine.records import RunId, RunInfo
from ui.cli.conductors import find_run, open_conductor
from ui.cli.execution.fork import Paused, Yes, confirm_cost, print_turn
from ui.cli.exit_codes import CODES, ExitCode, exit_code_of
from ui.cli.options import RunName
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control

EPILOG = f"""Examples:

```
hemicycle fork variants last variants.yaml --at 17
hemicycle fork variants last - --at 17 --yes < variants.yaml
```

The file is YAML or JSON: by the name of each variant, what changes in it. The fields are those of the API.

```
small model: {{models: {{reviewer: ollama/qwen3}}}}
kinder: {{instructions: {{reviewer: Praise first.}}, effort: {{reviewer: low}}}}
one round: {{parameters: {{max_iterations: 1}}, after: simulated}}
```

`fork list` and `runs compare` show how they differ, and `fork choose` marks the best.

{CODES}"""
POLL_SECONDS = 0.2


@with_session('patterns', 'pace', 'as_json', 'database', 'synchronous', 'server')
def variants(
    run: RunName,
    file: Annotated[
        str,
        typer.Argument(metavar='FILE', help='The variants; `-` reads them from standard input.'),
    ],
    at: Annotated[int, typer.Option('--at', min=0, help='Fork from this step; 0 is before the first.')],
    paused: Paused = False,
    yes: Yes = False,
    *,
    session: Session,
) -> None:
    """Fork several variants of a run at once, and wait until each has ended or waits.

    If one is invalid, none is started. What they may cost together is shown before they start. Ctrl+C
    releases those that this process executes, and `hemicycle resume` continues each.
    """
    chosen = _parse(file)

    async def work() -> list[RunInfo]:
        async with open_conductor(session) as conductor:
            run_id = await find_run(conductor, run)
            await print_turn(conductor, await conductor.info(run_id), at)
            await confirm_cost(conductor, run_id, at, list(chosen.values()), yes=yes)
            forks = await conductor.fork_all(run_id, at, chosen, paused=paused)
            for name, new in zip(chosen, forks, strict=True):
                typer.echo(strip_control(f'{new}  {one_line(name, 100)}'), err=True)
            return list(await asyncio.gather(*(_wait(conductor, new) for new in forks)))

    infos = asyncio.run(work())
    for info in infos:
        if session.as_json:
            print_json(**asdict(info))
        else:
            error = f'  {one_line(info.error, 200)}' if info.error else ''
            typer.echo(strip_control(f'{info.id}  {info.status:9}  {one_line(info.title, 100)}{error}'))
    raise typer.Exit(_exit_code(infos))


async def _wait(conductor: Conductor, run: RunId) -> RunInfo:
    """Wait until a run has ended, waits for a person or is paused."""
    while True:
        info = await conductor.info(run)
        if info.status is not Status.RUNNING:
            return info
        await asyncio.sleep(POLL_SECONDS)


def _exit_code(infos: Sequence[RunInfo]) -> ExitCode:
    """Return the exit code of the run that ended worst."""
    codes = [exit_code_of(info) for info in infos]
    order = (ExitCode.FAILED, ExitCode.CANCELLED, ExitCode.UNFINISHED, ExitCode.DONE_WITH_ISSUES)
    return next((code for code in order if code in codes), ExitCode.DONE)


def _parse(file: str) -> dict[str, ForkOverrides]:
    """Read the variants. Raises `InvalidInput`, naming the variant and the field."""
    from ui.api.wire import input_model, to_record

    text = sys.stdin.read() if file == '-' else Path(file).read_text('utf-8-sig')
    try:
        given: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput({'FILE': f'is neither YAML nor JSON: {error}'}) from None
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput({'FILE': 'must name variants, each with what changes in it'})
    model, changes = input_model(ForkOverrides), {}
    for name, values in given.items():
        try:
            changes[str(name)] = to_record(ForkOverrides, model.model_validate(values or {}))
        except ValidationError as error:
            problems = {'.'.join(map(str, (name, *item['loc']))): item['msg'] for item in error.errors()}
            raise InvalidInput(problems) from None
    return changes
