"""hemicycle test: runs as tests that need no network, and checking patterns with them."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from engine import EngineError, InvalidInput, LocalConductor
from engine.history import Redaction
from engine.operations.experiments import CheckedRun, CheckResult, ExperimentFile, read_experiment
from ui.cli.conductors import find_run, open_reader
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.options import RunName
from ui.cli.output.errors import print_error
from ui.cli.output.reporters import print_json
from ui.cli.remote import connect
from ui.cli.session import Session, with_session
from ui.web.exports.formats import to_yaml

Outcome = CheckResult | str
"""The result for a file, or a sentence if it could not be checked."""
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
    """Save a run as a test: an experiment with one case, which expects what the run did.

    Its recorded replies are in the file. What it expects is at the top, for you to edit.
    """
    test = asyncio.run(_save(session, run))
    file.write_text(to_yaml(test, Redaction.for_catalog(session.catalog)), 'utf-8')
    steps = sum(len(case.recording.steps) for case in test.cases if case.recording)
    typer.echo(f'{file} expects what run {run} did, in {steps} steps')


@with_session('patterns', 'as_json', 'server')
def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar='FILE...',
            help='Files written by `save`, or experiments with recordings; or folders: all `*.yaml` in them.',
        ),
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
    has_passed = all(isinstance(result, CheckResult) and result.passed for result in outcomes.values())
    raise typer.Exit(ExitCode.DONE if has_passed else ExitCode.FAILED)


def _files(path: Path) -> list[Path]:
    """Return the file itself, or all YAML files in a folder and its subfolders. Raises `InvalidInput`."""
    if not path.is_dir():
        return [path]
    tests = sorted(file for file in path.rglob('*') if file.suffix in ('.yaml', '.yml') and file.is_file())
    if not tests:
        raise InvalidInput({str(path): 'no tests found: it has no *.yaml file'})
    return tests


async def _save(session: Session, name: str) -> ExperimentFile:
    async with open_reader(session, session.catalog) as conductor:
        return await conductor.save_test(await find_run(conductor, name))


async def _outcomes(session: Session, files: list[Path]) -> dict[Path, Outcome]:
    return {file: await _outcome(session, file) for file in files}


async def _outcome(session: Session, file: Path) -> Outcome:
    try:
        test = read_experiment(file)
        here = connect(session.server) if session.server else LocalConductor(catalog=session.catalog)
        async with here as conductor:
            return await conductor.check(test)
    except EngineError as error:
        return str(error).replace(f'{file.name}:', 'line ')
    except OSError as error:
        return error.strerror or str(error)


def _format(file: Path, result: Outcome, as_json: bool) -> None:
    if isinstance(result, str):
        print_error(f'{file}: {result}')
        if as_json:
            print_json(file=str(file), passed=False, problem=result)
        return
    for run in result.runs:
        if as_json:
            print_json(file=str(file), passed=run.passed, **asdict(run))
            continue
        path = f', diverged at step {run.parted}' if run.parted else ', as recorded'
        name = _name(file, run, result)
        typer.echo(f'{name} {"passed" if run.passed else "FAILED"}: {run.steps} steps{path}')
        for miss in run.misses:
            typer.echo(f'  {miss.text}')


def _name(file: Path, run: CheckedRun, result: CheckResult) -> str:
    """Name a run of a file, by what tells it from the others."""
    parts = [
        text
        for text, others in (
            (run.case, {other.case for other in result.runs}),
            (run.variant, {other.variant for other in result.runs}),
            (f'repeat {run.repeat}', {other.repeat for other in result.runs}),
        )
        if len(others) > 1
    ]
    return f'{file} ({", ".join(parts)})' if parts else str(file)


def _report(outcomes: dict[Path, Outcome]) -> bytes:
    suite = ET.Element('testsuite', {'name': 'hemicycle'})
    counts = {'tests': 0, 'failures': 0, 'errors': 0}
    for file, result in outcomes.items():
        tests: list[tuple[str, str, str]] = []
        if isinstance(result, str):
            tests.append((str(file), 'error', result))
        else:
            for run in result.runs:
                failed = '; '.join(miss.text for miss in run.misses)
                tests.append((_name(file, run, result), 'failure' if failed else '', failed))
        for name, problem, message in tests:
            case = ET.SubElement(suite, 'testcase', name=name, classname='hemicycle.check')
            counts['tests'] += 1
            if problem:
                ET.SubElement(case, problem, message=message)
                counts[f'{problem}s'] += 1
    suite.attrib.update({name: str(number) for name, number in counts.items()})
    written: bytes = ET.tostring(suite, encoding='utf-8', xml_declaration=True)
    return written
