"""hemicycle runs merge: merges agents' work into a branch of the project, or prints it as a patch."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer

from engine import Conductor
from engine.history import Mergeable, Pick, merge_message
from engine.workspace import MergePreview, Resolution, format_patch, split_hunks
from ui.cli.conductors import find_run, open_reader
from ui.cli.options import RunName
from ui.cli.output.errors import CommandError
from ui.cli.session import Session, with_session
from ui.formatting.files import pull_request
from ui.formatting.plain_text import strip_control

Side = Literal['ours', 'theirs']
EPILOG = """Examples:

```
hemicycle runs merge last --dry-run
hemicycle runs merge 3f9 --agent racer2 --into feature/spans
hemicycle runs merge 3f9 --take src/a.py=theirs --take src/b.py=@resolved.py
hemicycle runs merge 3f9 --hunks
hemicycle runs merge 3f9 --pick src/a.py=racer1:1,3 --pick src/b.py=racer2 --test
hemicycle runs merge 3f9 --patch | git apply
hemicycle runs merge 3f9 --pull-request
```"""


@with_session('patterns', 'database', 'files', 'server')
def merge(
    run: RunName = 'last',
    agent: Annotated[
        str,
        typer.Option(metavar='AGENT', help='Whose work to merge; by default the best candidate.'),
    ] = '',
    into: Annotated[
        str,
        typer.Option(
            metavar='BRANCH',
            help='The branch to merge into; by default the current one. Created if it does not exist.',
        ),
    ] = '',
    only: Annotated[
        list[str] | None, typer.Option(metavar='PATH', help='Merge only this file. Repeatable.')
    ] = None,
    take: Annotated[
        list[str] | None,
        typer.Option(
            metavar='PATH=SIDE',
            help='Resolve a conflict: ours (the branch), theirs (the agent), or @FILE with the text.',
        ),
    ] = None,
    pick: Annotated[
        list[str] | None,
        typer.Option(
            metavar='PATH=AGENT[:N,...]',
            help="Compose the result from several agents' files, or from some of their changes, by the"
            ' numbers that --hunks shows. Repeatable.',
        ),
    ] = None,
    test: Annotated[
        bool,
        typer.Option('--test', help="First run the run's tests on it; nothing is merged unless they pass."),
    ] = False,
    hunks: Annotated[
        bool, typer.Option('--hunks', help="List the agents' changes with their numbers, and stop.")
    ] = False,
    message: Annotated[str, typer.Option('--message', '-m', help='The commit message.')] = '',
    dry_run: Annotated[bool, typer.Option('--dry-run', help='Show what would change, and stop.')] = False,
    patch: Annotated[bool, typer.Option('--patch', help='Print a patch, and merge nothing.')] = False,
    request: Annotated[
        bool,
        typer.Option('--pull-request', help='Print a description for a pull request, and merge nothing.'),
    ] = False,
    *,
    session: Session,
) -> None:
    """Merge the work of agents into a branch of your repository, or print it as a patch.

    A merge is one commit. Until then, and with --dry-run, your branches and files are untouched.
    """
    picks = [_pick(given) for given in pick or ()]
    if picks and agent:
        raise CommandError('--agent: what --pick composes is of several agents: give only one of the options')

    async def work() -> str:
        async with open_reader(session, session.catalog) as conductor:
            mergeable = await conductor.merging.mergeable(await find_run(conductor, run))
            if hunks:
                return await _list_hunks(conductor, mergeable, agent)
            if picks:
                mergeable = await conductor.merging.compose(mergeable, picks)
            whose = agent or mergeable.best
            if not whose:
                raise CommandError(f'--agent: name one of {", ".join(sorted(mergeable.folders)) or "none"}')
            if test:
                await _test(conductor, mergeable, whose)
            if patch or request:
                changes = await conductor.merging.changes(mergeable, whose)
                return format_patch(changes) if patch else pull_request(mergeable, whose, changes)
            resolutions = dict(map(_resolution, take or ()))
            preview = await conductor.merging.preview(
                mergeable, whose, into, resolutions=resolutions, only=only or ()
            )
            summary = '\n'.join(_summarize(preview, whose))
            if dry_run:
                return f'{summary}\n'
            if preview.conflicts:
                raise CommandError(
                    f'{summary}\nNothing was merged: resolve each with --take PATH=ours, theirs or @FILE'
                )
            commit = await conductor.merging.merge(
                mergeable, preview, whose, resolutions=resolutions, only=only or (),
                message=message or merge_message(mergeable, whose),
            )  # fmt: skip
            return f'{summary}\nMerged into {preview.branch}: commit {commit[:12]}\n'

    typer.echo(strip_control(asyncio.run(work())), nl=False)


async def _list_hunks(conductor: Conductor, mergeable: Mergeable, agent: str) -> str:
    """List the changes of one agent or of all, numbered from 1. Raises `CommandError`."""
    if agent and agent not in mergeable.folders:
        raise CommandError(f'--agent: name one of {", ".join(sorted(mergeable.folders)) or "none"}')
    lines = []
    for name in [agent] if agent else sorted(mergeable.folders):
        for change in await conductor.merging.changes(mergeable, name):
            lines.append(f'{change.path}={name}')
            for number, hunk in enumerate(split_hunks(change.text) if change.text else (), 1):
                head, *body = hunk.text.splitlines()
                lines += [f'  {number}  {head}', *(f'     {line}' for line in body)]
    return '\n'.join([*lines, '']) if lines else 'no agent has changed anything\n'


async def _test(conductor: Conductor, mergeable: Mergeable, whose: str) -> None:
    """Run the run's tests on an agent's work, or on what was composed. Raises `CommandError`."""
    result = await conductor.merging.test(mergeable, whose)
    typer.echo(strip_control(result.text), err=True)
    if not result.passed:
        raise CommandError(f'the tests of {whose} did not pass: nothing was merged')


def _pick(given: str) -> Pick:
    """Parse PATH=AGENT or PATH=AGENT:1,3; numbers begin with 1. Raises `CommandError`."""
    path, _, source = given.rpartition('=')
    agent, colon, listed = source.partition(':')
    numbers = [part.strip() for part in listed.split(',')] if colon else []
    if (
        not path
        or not agent
        or not all(part.isascii() and part.isdecimal() and int(part) for part in numbers)
    ):
        raise CommandError(f'--pick: {given!r} is not PATH=AGENT or PATH=AGENT:N,...')
    chosen = tuple(int(part) - 1 for part in numbers)
    return Pick(path=path, agent=agent, hunks=chosen if colon else None)


def _summarize(preview: MergePreview, whose: str) -> list[str]:
    """Summarize a merge, with a line for each file."""
    where = f'{preview.branch}, a new branch' if preview.is_new else preview.branch
    also = f' and the files in {preview.checked_out}' if preview.checked_out else ''
    lines = [f'The work of {whose} changes {where}{also}:', *(f'  {path}' for path in preview.paths)]
    for conflict in preview.conflicts:
        lines.append(f'Conflict: {conflict.path}')
        lines += [f'  {line}' for line in _mark_conflicts(conflict.text)]
    return lines


def _mark_conflicts(text: str | None) -> list[str]:
    """Return the lines in conflict, with their markers."""
    if text is None:
        return ['one side has removed it, or it is not a text file']
    lines, inside = [], False
    for line in text.splitlines():
        inside = inside or line.startswith('<<<<<<<')
        if inside:
            lines.append(line)
        inside = inside and not line.startswith('>>>>>>>')
    return lines


def _resolution(text: str) -> tuple[str, Resolution]:
    path, _, side = text.rpartition('=')
    if not path or not side:
        raise CommandError(f'--take: {text!r} is not PATH=ours, PATH=theirs or PATH=@FILE')
    if not side.startswith('@'):
        if side not in get_args(Side):
            raise CommandError(f'--take: {side!r} is not ours, theirs or @FILE')
        return path, Resolution(side=cast(Side, side))
    try:
        return path, Resolution(text=Path(side[1:]).read_text('utf-8'))
    except (OSError, ValueError) as error:
        raise CommandError(f'--take: {side[1:]} cannot be read: {error}') from None
