"""hemicycle runs export: a run as a page that plays offline, as a bundle, or as Markdown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from ui.cli.conductors import find_run, open_reader
from ui.cli.options import RunName
from ui.cli.output.errors import CommandError
from ui.cli.session import Session, with_session
from ui.server.grace import exit_cleanly
from ui.web.exports.formats import FormatName, file_name, stream_export

if TYPE_CHECKING:
    from ui.api.client import HttpConductor

EPILOG = """Examples:

```
hemicycle runs export last
hemicycle runs export 3f9 --bundle --family -o family.jsonl.gz
hemicycle runs export last --markdown -o - | less
```"""
ENDINGS: dict[str, FormatName] = {'.jsonl.gz': 'bundle', '.jsonl': 'bundle', '.md': 'markdown'}
"""Formats by the ending of the file's name."""


@with_session('database', 'files', 'server')
@exit_cleanly()
def export(
    run: RunName = 'last',
    html: Annotated[
        bool, typer.Option('--html', help='One page that replays offline (the default).')
    ] = False,
    as_bundle: Annotated[
        bool, typer.Option('--bundle', help='Everything, for `hemicycle runs import` on another machine.')
    ] = False,
    markdown: Annotated[bool, typer.Option('--markdown', help='A transcript.')] = False,
    family: Annotated[
        bool,
        typer.Option('--family', help='With --bundle: the whole fork tree.'),
    ] = False,
    output: Annotated[
        str,
        typer.Option(
            '--output',
            '-o',
            metavar='FILE',
            help='The file to write; `-` is standard output. By default in this folder, named after the run. '
            '`.jsonl`, `.jsonl.gz` and `.md` choose the format if no option does.',
        ),
    ] = '',
    *,
    session: Session,
) -> None:
    """Export a run to a file for others. Keys and other secrets known to this machine are removed.

    No model is called, and it works while a server is running.
    """
    formats: dict[FormatName, bool] = {'html': html, 'bundle': as_bundle, 'markdown': markdown}
    chosen = [form for form, named in formats.items() if named]
    if len(chosen) > 1:
        raise CommandError('choose one of --html, --bundle and --markdown')
    by_name: FormatName = next((form for ending, form in ENDINGS.items() if output.endswith(ending)), 'html')
    form = chosen[0] if chosen else by_name
    if family:
        if form != 'bundle':
            raise CommandError('--family needs --bundle: the other formats hold one run')
        form = 'family'
    written = asyncio.run(_export(session, run, form, output))
    if written:
        typer.echo(written)


async def _export(session: Session, name: str, form: FormatName, output: str) -> str:
    async with open_reader(session, session.catalog) as conductor:
        info = await conductor.info(await find_run(conductor, name))
        if session.server:  # It knows the secrets to leave out.
            content = cast('HttpConductor', conductor).export(info.id, form)
        else:
            content = stream_export(conductor, info.id, form)
        return await write_export(content, output, file_name(info, form))


async def write_export(content: AsyncIterator[bytes], output: str, name: str) -> str:
    """Write an export to a file, or to standard output for `-`; return the file's path, or ''.

    Args:
        content: the pieces of the file.
        output: where to write it; '' is a file in this folder.
        name: the name of that file.

    Raises:
        EngineError, OSError
    """
    if output == '-':
        async for piece in content:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return ''
    path = Path(output or name)
    await _write(path, content)
    return str(path)


async def _write(path: Path, content: AsyncIterator[bytes]) -> None:
    """Write a complete file or nothing: an existing file keeps its content until then."""
    special = await asyncio.to_thread(_open_special, path)
    if special:
        with special:
            await _copy(content, special)
        return
    scratch = ''
    try:
        target = await asyncio.to_thread(path.resolve)  # What a link points to is replaced, not the link.
        handle, scratch = tempfile.mkstemp(prefix=f'.{target.name}-', dir=target.parent)
        with os.fdopen(handle, 'wb') as file:
            await _copy(content, file)
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
    except BaseException as error:
        if isinstance(error, OSError) and (not scratch or error.filename in (None, scratch)):
            error.filename = str(path)  # The other file's name says nothing; a full disk's error has none.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(scratch)
        raise


def _open_special(path: Path) -> BinaryIO | None:
    """Open a pipe or a device, whose place no file must take; raise for a folder."""
    return path.open('wb') if path.exists() and not path.is_file() else None


async def _copy(content: AsyncIterator[bytes], file: BinaryIO) -> None:
    async for piece in content:
        await asyncio.to_thread(file.write, piece)
