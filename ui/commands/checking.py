"""hemicycle save-test and check: a run as a test that needs no network, and how a pattern does by it."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Annotated

import typer
import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from engine import Catalog, Checked, Conductor, EngineError, InvalidInput, QuickLoader, Redaction, Saved
from ui.commands.exits import CODES, Code, Refused, complain
from ui.commands.options import AsJson, Database, Patterns, RunName
from ui.commands.run import catalog_of
from ui.commands.session import find, reading, settings_of, storage_of
from ui.commands.showers import json_line
from ui.exports.asserted import written
from ui.settings import Settings, Storage

Outcome = Checked | str
"""What became of a file; a sentence, where it could not be played."""
SAVE = f"""Examples:

```
hemicycle save-test last tests/sizing.yaml
```

{CODES}"""
CHECK = f"""Examples:

```
hemicycle check tests/sizing.yaml
hemicycle check tests/ --junit report.xml
```

{CODES}"""


def save_test(
    context: typer.Context,
    run: RunName,
    file: Annotated[Path, typer.Argument(metavar='FILE', help='Where to: a YAML file.')],
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    database: Database = '',
) -> None:
    """Keep a run as a test: what it was like is what is expected, and its replies are played.

    The expectations stand at the top of the file, to be changed by hand.
    """
    settings = settings_of(database, patterns=patterns)
    test = asyncio.run(_saved(storage_of(context), settings, run))
    file.write_text(written(test, Redaction.of(catalog_of(settings))), 'utf-8')
    typer.echo(f'{file} expects what run {run} was like, in {len(test.recorded)} steps')


def check(
    files: Annotated[
        list[Path],
        typer.Argument(metavar='FILE...', help='What `save-test` wrote; of a folder, all `*.yaml` in it.'),
    ],
    junit: Annotated[Path | None, typer.Option(help='Write a report in the form of JUnit.')] = None,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    as_json: AsJson = False,
) -> None:
    """Play saved tests through the patterns as they are now: no model, no tool and no network is needed.

    All are played, also where one cannot be; then the exit code is 2.
    """
    catalog = catalog_of(settings_of('', patterns=patterns))
    found = asyncio.run(_outcomes(catalog, [file for given in files for file in _files(given)]))
    for file, result in found.items():
        _told(file, result, as_json)
    if junit:
        junit.write_bytes(_report(found))
    if any(isinstance(result, str) for result in found.values()):
        raise typer.Exit(Code.REFUSED)
    raise typer.Exit(Code.DONE if all(map(_passed, found.values())) else Code.FAILED)


def read_test(file: Path) -> Saved:
    """A test from its file. Raises `InvalidInput`, which names the field; `Refused`, `OSError`."""
    try:
        return Saved.model_validate(yaml.load(file.read_text('utf-8'), QuickLoader))
    except ValidationError as error:
        listed = {'.'.join(map(str, item['loc'])): _said(item) for item in error.errors()}
        raise (Refused(listed['']) if '' in listed else InvalidInput(listed)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Refused(f'it is no YAML: {error}') from None


def _said(item: ErrorDetails) -> str:
    if item['type'] in ('model_type', 'dict_type'):
        return 'it must be a mapping, as `save-test` writes it'
    return item['msg'].removeprefix('Value error, ')


def _files(given: Path) -> list[Path]:
    """A file; or of a folder, and the folders in it, all that may be tests. Raises `InvalidInput`."""
    if not given.is_dir():
        return [given]
    found = sorted(file for file in given.rglob('*') if file.suffix in ('.yaml', '.yml') and file.is_file())
    if not found:
        raise InvalidInput({str(given): 'there is no test in it, no file *.yaml'})
    return found


async def _saved(storage: Storage, settings: Settings, name: str) -> Saved:
    async with reading(storage, settings, catalog_of(settings)) as conductor:
        return await conductor.save_test(await find(conductor, name))


async def _outcomes(catalog: Catalog, files: list[Path]) -> dict[Path, Outcome]:
    return {file: await _outcome(catalog, file) for file in files}


async def _outcome(catalog: Catalog, file: Path) -> Outcome:
    try:
        async with Conductor(catalog=catalog) as conductor:
            return await conductor.check(read_test(file))
    except EngineError as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)


def _passed(result: Outcome) -> bool:
    return isinstance(result, Checked) and result.passed


def _told(file: Path, result: Outcome, as_json: bool) -> None:
    if isinstance(result, str):
        complain(f'{file}: {result}')
        if as_json:
            json_line(file=str(file), passed=False, problem=result)
    elif as_json:
        misses = [
            {'what': miss.what, 'wanted': miss.wanted, 'came': miss.came, 'step': miss.step}
            for miss in result.misses
        ]
        json_line(file=str(file), passed=result.passed, parted=result.parted, misses=misses)
    else:
        way = f', another way from step {result.parted} on' if result.parted else ', as it was recorded'
        typer.echo(f'{file} {"passed" if result.passed else "FAILED"}: {result.steps} steps{way}')
        for miss in result.misses:
            at = f' at step {miss.step}' if miss.step else ''
            typer.echo(f'  {miss.what}{at}: expected {miss.wanted}, came {miss.came}')


def _report(found: dict[Path, Outcome]) -> bytes:
    broken = sum(isinstance(result, str) for result in found.values())
    failed = sum(not _passed(result) for result in found.values()) - broken
    numbers = {'tests': str(len(found)), 'failures': str(failed), 'errors': str(broken)}
    suite = ET.Element('testsuite', {'name': 'hemicycle', **numbers})
    for file, result in found.items():
        case = ET.SubElement(suite, 'testcase', name=str(file), classname='hemicycle.check')
        if isinstance(result, str):
            ET.SubElement(case, 'error', message=result)
        elif not result.passed:
            missed = (f'{miss.what}: expected {miss.wanted}, came {miss.came}' for miss in result.misses)
            ET.SubElement(case, 'failure', message='; '.join(missed))
    written: bytes = ET.tostring(suite, encoding='utf-8', xml_declaration=True)
    return written
