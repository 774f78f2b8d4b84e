"""hemicycle test: runs as tests that need no network, and checking patterns with them."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Annotated

import typer
import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from engine import EngineError, InvalidInput, LocalConductor
from engine.history import Redaction, RegressionResult, RegressionTest
from engine.models import QuickLoader
from ui.cli.conductors import find_run, open_reader
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.options import RunName
from ui.cli.output.errors import CommandError, print_error
from ui.cli.output.reporters import print_json
from ui.cli.remote import connect
from ui.cli.session import Session, with_session
from ui.formatting.forks import miss_text
from ui.web.exports.formats import to_yaml

Outcome = RegressionResult | str
"""The result for a file, or a sentence if it could not be replayed."""
EPILOG = f"""Examples:

```
hemicycle test save last tests/sizing.yaml
hemicycle test check tests/sizing.yaml
hemicycle test check tests/ --junit report.xml
```

{CODES}"""


@with_session('patterns', 'database', 'server')
def save(
    run: RunName,
    file: Annotated[Path, typer.Argument(metavar='FILE', help='The YAML file to write.')],
    *,
    session: Session,
) -> None:
    """Save a run as a test: it expects what the run did, and replays its recorded replies.

    The expectations are at the top of the file, for you to edit.
    """
    test = asyncio.run(_save(session, run))
    file.write_text(to_yaml(test, Redaction.for_catalog(session.catalog)), 'utf-8')
    typer.echo(f'{file} expects what run {run} did, in {len(test.recorded)} steps')


@with_session('patterns', 'as_json', 'server')
def check(
    files: Annotated[
        list[Path],
        typer.Argument(metavar='FILE...', help='Files written by `save`, or folders: all `*.yaml` in them.'),
    ],
    junit: Annotated[Path | None, typer.Option(help='Write a JUnit report.')] = None,
    *,
    session: Session,
) -> None:
    """Replay saved tests through the current patterns: no model, tool or network is needed.

    All of them are replayed; if one cannot be, the exit code is 2.
    """
    outcomes = asyncio.run(_outcomes(session, [file for path in files for file in _files(path)]))
    for file, result in outcomes.items():
        _format(file, result, session.as_json)
    if junit:
        junit.write_bytes(_report(outcomes))
    if any(isinstance(result, str) for result in outcomes.values()):
        raise typer.Exit(ExitCode.REFUSED)
    raise typer.Exit(ExitCode.DONE if all(map(_has_passed, outcomes.values())) else ExitCode.FAILED)


def read_test(file: Path) -> RegressionTest:
    """Read a test from its file. Raises `InvalidInput`, which names the field; `CommandError`, `OSError`."""
    try:
        return RegressionTest.model_validate(yaml.load(file.read_text('utf-8'), QuickLoader))
    except ValidationError as error:
        listed = {'.'.join(map(str, item['loc'])): _describe(item) for item in error.errors()}
        raise (CommandError(listed['']) if '' in listed else InvalidInput(listed)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CommandError(f'it is not YAML: {error}') from None


def _describe(item: ErrorDetails) -> str:
    if item['type'] in ('model_type', 'dict_type'):
        return 'it must be a mapping, as `test save` writes it'
    return item['msg'].removeprefix('Value error, ')


def _files(path: Path) -> list[Path]:
    """Return the file itself, or all YAML files in a folder and its subfolders. Raises `InvalidInput`."""
    if not path.is_dir():
        return [path]
    tests = sorted(file for file in path.rglob('*') if file.suffix in ('.yaml', '.yml') and file.is_file())
    if not tests:
        raise InvalidInput({str(path): 'no tests found: it has no *.yaml file'})
    return tests


async def _save(session: Session, name: str) -> RegressionTest:
    async with open_reader(session, session.catalog) as conductor:
        return await conductor.save_test(await find_run(conductor, name))


async def _outcomes(session: Session, files: list[Path]) -> dict[Path, Outcome]:
    return {file: await _outcome(session, file) for file in files}


async def _outcome(session: Session, file: Path) -> Outcome:
    try:
        test = read_test(file)
        here = connect(session.server) if session.server else LocalConductor(catalog=session.catalog)
        async with here as conductor:
            return await conductor.check(test)
    except EngineError as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)


def _has_passed(result: Outcome) -> bool:
    return isinstance(result, RegressionResult) and result.passed


def _format(file: Path, result: Outcome, as_json: bool) -> None:
    if isinstance(result, str):
        print_error(f'{file}: {result}')
        if as_json:
            print_json(file=str(file), passed=False, problem=result)
    elif as_json:
        misses = [
            {'what': miss.what, 'wanted': miss.wanted, 'came': miss.came, 'step': miss.step}
            for miss in result.misses
        ]
        print_json(file=str(file), passed=result.passed, parted=result.parted, misses=misses)
    else:
        path = f', diverged at step {result.parted}' if result.parted else ', as recorded'
        typer.echo(f'{file} {"passed" if result.passed else "FAILED"}: {result.steps} steps{path}')
        for miss in result.misses:
            typer.echo(f'  {miss_text(miss)}')


def _report(outcomes: dict[Path, Outcome]) -> bytes:
    broken = sum(isinstance(result, str) for result in outcomes.values())
    failed = sum(not _has_passed(result) for result in outcomes.values()) - broken
    numbers = {'tests': str(len(outcomes)), 'failures': str(failed), 'errors': str(broken)}
    suite = ET.Element('testsuite', {'name': 'hemicycle', **numbers})
    for file, result in outcomes.items():
        case = ET.SubElement(suite, 'testcase', name=str(file), classname='hemicycle.check')
        if isinstance(result, str):
            ET.SubElement(case, 'error', message=result)
        elif not result.passed:
            ET.SubElement(case, 'failure', message='; '.join(map(miss_text, result.misses)))
    written: bytes = ET.tostring(suite, encoding='utf-8', xml_declaration=True)
    return written
