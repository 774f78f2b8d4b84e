"""hemicycle mcp-server: the MCP servers whose tools agents use: list, test, add, change, remove."""

from __future__ import annotations

import asyncio
import functools
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from engine import InvalidInput
from engine.tools import McpSection, ServerHealth
from ui.cli.catalog.saving import (
    checked_address,
    names_to_test,
    open_connections,
    place_of,
    remove,
    report_tests,
    save,
)
from ui.cli.inputs import parse_pairs
from ui.cli.output.reporters import print_json
from ui.cli.record_options import OptionNote, check_changes, record_options, with_options
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.formatting.values import describe_tools

EPILOG = """Examples:

```
hemicycle mcp-server list
hemicycle mcp-server test git
hemicycle mcp-server add git --command "uvx mcp-server-git --repository ."
hemicycle mcp-server add notes --url https://notes.example/mcp --oauth --no-test
hemicycle mcp-server change git --tool "git_*" --approvals all
hemicycle mcp-server sign-in notes
hemicycle mcp-server remove git
```

Exit code: **0** done · **1** a test failed · **2** bad input, or refused"""
Name = Annotated[
    str,
    typer.Argument(metavar='NAME', help='Its tools are called NAME_TOOL.'),
]
NOTES = {
    'command': OptionNote(hint=' With its arguments.'),
    'env': OptionNote(metavar='NAME=VALUE', parse=lambda texts: dict(parse_pairs('--env', texts))),
    'url': OptionNote(parse=functools.partial(checked_address, '--url')),
    'headers': OptionNote(metavar='NAME=VALUE', parse=lambda texts: dict(parse_pairs('--header', texts))),
    'tools': OptionNote(metavar='NAME'),
}
OTHERS = McpSection.model_fields.keys() - {*NOTES, 'oauth', 'approvals'}
"""Fields that are set in the configuration file alone."""
OPTIONS = record_options(McpSection, without=OTHERS, notes=NOTES, changes=True)
Test = Annotated[bool, typer.Option('--test/--no-test', help='Test it afterwards.')]


@with_session('as_json', 'server')
def list_servers(*, session: Session) -> None:
    """List the MCP servers of the configuration file."""

    async def work() -> Sequence[ServerHealth]:
        async with open_connections(session) as conductor:
            return await conductor.mcp_servers.list()

    healths = asyncio.run(work())
    for health in healths:
        if session.as_json:
            print_json(**asdict(health))
            continue
        facts = [health.where, 'sign-in' if health.oauth else '', ', '.join(health.tools), health.problem]
        typer.echo(strip_control(f'{health.server}  {" · ".join(filter(None, facts))}'))
    if not healths and not session.as_json:
        typer.echo('no MCP server is connected; agents have the built-in tools')


@with_session('as_json', 'server')
def test(
    name: Annotated[str, typer.Argument(metavar='NAME', help='The server; by default all.')] = '',
    *,
    session: Session,
) -> None:
    """Connect to MCP servers, and list their tools."""

    async def work() -> Sequence[ServerHealth]:
        async with open_connections(session) as conductor:
            names = [health.server for health in await conductor.mcp_servers.list()]
            return await asyncio.gather(
                *(conductor.mcp_servers.test(each) for each in names_to_test(names, name, 'MCP server'))
            )

    report_tests(asyncio.run(work()), _describe, as_json=session.as_json)


@with_options('values', OPTIONS)
@with_session('server')
def add(name: Name, *, values: dict[str, Any], test: Test = True, session: Session) -> None:
    """Add an MCP server to the configuration file, and test it.

    A running server of Hemicycle that `--server` does not name uses it after its next start.
    """
    if bool(values.get('command')) == bool(values.get('url')):
        raise InvalidInput({'--command': 'give either --command or --url'})
    _save(session, name, values, new=True, test=test)


@with_options('values', OPTIONS)
@with_session('server')
def change(name: Name, *, values: dict[str, Any], test: Test = True, session: Session) -> None:
    """Change an MCP server of the configuration file, and test it; what is not given stays as it is.

    A new command removes what belongs to an address, and the reverse. A running server of Hemicycle that
    `--server` does not name uses the change after its next start.
    """
    check_changes(values, OPTIONS)
    if values.get('command') and values.get('url'):
        raise InvalidInput({'--command': 'give either --command or --url'})
    _save(session, name, values, new=False, test=test)


@with_session('server')
def remove_server(name: Name, *, session: Session) -> None:
    """Remove an MCP server from the configuration file; runs that use it fail at their next call.

    A running server of Hemicycle that `--server` does not name uses it until it ends.
    """
    remove(session, lambda conductor: conductor.mcp_servers, name, 'MCP server')


def _entries(values: dict[str, Any]) -> dict[str, Any]:
    """Return the entries to write: a program removes what belongs to an address, and the reverse."""
    entries: dict[str, Any] = {}
    if 'command' in values:
        program, *arguments = _split(values['command'])
        entries |= {'url': '', 'headers': {}, 'oauth': False}
        values = values | {'command': program, 'args': arguments}
    if 'url' in values:
        entries |= {'command': '', 'args': [], 'env': {}}
    if values.get('approvals') == 'marked':
        values = values | {'approvals': ''}
    return entries | values


def _split(command: str) -> list[str]:
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise InvalidInput({'--command': f'cannot be read: {error}'}) from None
    if not parts:
        raise InvalidInput({'--command': 'names no program'})
    return parts


def _save(session: Session, name: str, values: dict[str, Any], *, new: bool, test: bool) -> None:
    entries = _entries(values)

    async def work() -> list[ServerHealth]:
        async with open_connections(session) as conductor:
            await save(conductor.mcp_servers, name, entries, new=new, what='MCP server')
            typer.echo(strip_control(f'saved in {place_of(session)}'), err=True)
            return [await conductor.mcp_servers.test(name)] if test else []

    report_tests(asyncio.run(work()), _describe, as_json=False)


def _describe(result: ServerHealth) -> tuple[str, str]:
    offered = describe_tools(result.tools, result.unusable, named=True)
    return result.server, f'is available and offers {offered}'
