"""hemicycle export: a run as a page that plays offline, as a bundle, or as Markdown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import typer

from engine import RunInfo
from ui.commands.exits import Refused
from ui.commands.options import Database, RunName
from ui.commands.run import catalog_of
from ui.commands.session import find, reading, settings_of, storage_of
from ui.exports.forms import FORMS, Form, pieces
from ui.exports.words import file_name
from ui.settings import Settings, Storage

EPILOG = """Examples:

```
hemicycle export last
hemicycle export 3f9 --bundle --family -o family.jsonl.gz
hemicycle export last --markdown -o - | less
```"""


def export(  # noqa: PLR0913  (options)
    context: typer.Context,
    run: RunName = 'last',
    html: Annotated[bool, typer.Option('--html', help='One page that plays offline (the default).')] = False,
    as_bundle: Annotated[
        bool, typer.Option('--bundle', help='All of it, for `hemicycle import` elsewhere.')
    ] = False,
    markdown: Annotated[bool, typer.Option('--markdown', help='A transcript.')] = False,
    family: Annotated[
        bool,
        typer.Option('--family', help='With --bundle: and all that it was forked from, and their forks.'),
    ] = False,
    output: Annotated[
        str,
        typer.Option(
            '--output',
            '-o',
            metavar='FILE',
            help='Where to; `-` is standard output. By default a file here, named after the run.',
            show_default=False,
        ),
    ] = '',
    database: Database = '',
) -> None:
    """Write a run into a file for others. Keys and other secrets that this machine knows are taken out.

    No model is called, and it works while a server runs.
    """
    wanted: dict[Form, bool] = {'html': html, 'bundle': as_bundle, 'markdown': markdown}
    chosen = [form for form, named in wanted.items() if named]
    if len(chosen) > 1:
        raise Refused('choose one of --html, --bundle and --markdown')
    form: Form = chosen[0] if chosen else 'html'
    if family:
        if form != 'bundle':
            raise Refused('--family goes with --bundle: the other forms hold one run')
        form = 'family'
    written = asyncio.run(_export(storage_of(context), settings_of(database), run, form, output))
    if written:
        typer.echo(written)


async def _export(storage: Storage, settings: Settings, name: str, form: Form, output: str) -> str:
    async with reading(storage, settings, catalog_of(settings)) as conductor:
        info = await conductor.info(await find(conductor, name))
        made = pieces(conductor, info.id, form)
        if output == '-':
            async for piece in made:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            return ''
        path = Path(output) if output else _named(info, form)
        await _write(path, made)
        return str(path)


def _named(info: RunInfo, form: Form) -> Path:
    return Path(file_name(info, FORMS[form].end, more='-family' if form == 'family' else ''))


async def _write(path: Path, made: AsyncIterator[bytes]) -> None:
    """Write a whole file or none: a name that is taken keeps what it has until then."""
    handle, scratch = tempfile.mkstemp(prefix=f'.{path.name}-', dir=path.parent)
    try:
        with os.fdopen(handle, 'wb') as file:
            async for piece in made:
                await asyncio.to_thread(file.write, piece)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(scratch)
        raise
