"""hemicycle mcp-server: the MCP servers whose tools agents use: list, test, add, change, remove."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, get_args

import typer

from engine import InvalidInput
from engine.records import Approvals
from engine.tools import ServerHealth
from ui.cli.catalog.saving import (
    check_address,
    names_to_test,
    open_catalog,
    remove,
    report_tests,
    save,
)
from ui.cli.inputs import check_choice, given, parse_pairs
from ui.cli.output.reporters import print_json
from ui.cli.remote import connect_to_named
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
SECRETS = 'For a secret, give a reference as its value: `env:NAME` or `keyring:SERVICE/USER`.'
Name = Annotated[
    str,
    typer.Argument(metavar='NAME', help='Its tools are called NAME_TOOL.', show_default=False),
]
CommandLine = Annotated[
    str | None,
    typer.Option(
        '--command',
        metavar='COMMAND',
        help='The program to start on this machine, with its arguments.',
        show_default=False,
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        '--env',
        metavar='NAME=VALUE',
        help=f'A variable of the program; repeatable. {SECRETS}',
        show_default=False,
    ),
]
Url = Annotated[
    str | None,
    typer.Option('--url', metavar='URL', help='The address to connect to, instead.', show_default=False),
]
Headers = Annotated[
    list[str] | None,
    typer.Option(
        '--header',
        metavar='NAME=VALUE',
        help='A header of requests to the address; repeatable. As for --env.',
        show_default=False,
    ),
]
OAuth = Annotated[
    bool | None,
    typer.Option('--oauth/--no-oauth', help='Sign in with a browser, for an address.', show_default=False),
]
Tools = Annotated[
    list[str] | None,
    typer.Option(
        '--tool',
        metavar='NAME',
        help='A tool to offer; * stands for any text. By default all. Repeatable.',
        show_default=False,
    ),
]
Approval = Annotated[
    str | None,
    typer.Option(
        metavar='|'.join(get_args(Approvals)),
        help='Which calls wait for a person: those of tools that the server does not declare harmless'
        ' (`marked`, the default), all, or none.',
        show_default=False,
    ),
]
Test = Annotated[bool, typer.Option('--test/--no-test', help='Test it afterwards.')]


@with_session('as_json', 'server')
def list_servers(*, session: Session) -> None:
    """List the MCP servers of the configuration file."""

    async def work() -> Sequence[ServerHealth]:
        async with connect_to_named(session) as ask:
            if ask:
                return await ask.many(ServerHealth, 'mcp-servers')
        async with open_catalog(session) as catalog:
            return catalog.mcp.last_health()

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
    name: Annotated[
        str, typer.Argument(metavar='NAME', help='The server; by default all.', show_default=False)
    ] = '',
    *,
    session: Session,
) -> None:
    """Connect to MCP servers, and list their tools."""

    async def work() -> Sequence[ServerHealth]:
        async with connect_to_named(session) as ask:
            if ask:
                names = [health.server for health in await ask.many(ServerHealth, 'mcp-servers')]
                return [
                    await ask.one_of(ServerHealth, f'mcp-servers/{server}/test')
                    for server in names_to_test(names, name, 'MCP server')
                ]
        async with open_catalog(session) as catalog:
            names = [health.server for health in catalog.mcp.last_health()]
            return await asyncio.gather(
                *(catalog.mcp.test(server) for server in names_to_test(names, name, 'MCP server'))
            )

    report_tests(asyncio.run(work()), _describe, as_json=session.as_json)


@with_session()
def add(  # noqa: PLR0913  (its arguments are the command's)
    name: Name,
    command: CommandLine = None,
    env: Variables = None,
    url: Url = None,
    headers: Headers = None,
    oauth: OAuth = None,
    tools: Tools = None,
    approvals: Approval = None,
    test: Test = True,
    *,
    session: Session,
) -> None:
    """Add an MCP server to the configuration file, and test it.

    A running server of Hemicycle uses it after its next start.
    """
    if bool(command) == bool(url):
        raise InvalidInput({'--command': 'give either --command or --url'})
    _save(session, name, _values(command, env, url, headers, oauth, tools, approvals), new=True, test=test)


@with_session()
def change(  # noqa: PLR0913  (its arguments are the command's)
    name: Name,
    command: CommandLine = None,
    env: Variables = None,
    url: Url = None,
    headers: Headers = None,
    oauth: OAuth = None,
    tools: Tools = None,
    approvals: Approval = None,
    test: Test = True,
    *,
    session: Session,
) -> None:
    """Change an MCP server of the configuration file, and test it; what is not given stays as it is.

    A new command removes what belongs to an address, and the reverse. A running server of Hemicycle uses the
    change after its next start.
    """
    values = _values(command, env, url, headers, oauth, tools, approvals)
    if not values:
        options = '--command, --env, --url, --header, --oauth, --tool or --approvals'
        raise InvalidInput({'change': f'give what to change: {options}'})
    if command and url:
        raise InvalidInput({'--command': 'give either --command or --url'})
    _save(session, name, values, new=False, test=test)


@with_session()
def remove_server(name: Name, *, session: Session) -> None:
    """Remove an MCP server from the configuration file; runs that use it fail at their next call.

    A running server of Hemicycle uses it until it ends.
    """
    remove(session, 'mcp', name, 'MCP server')


def _values(  # noqa: PLR0913  (what the commands share)
    command: str | None,
    env: list[str] | None,
    url: str | None,
    headers: list[str] | None,
    oauth: bool | None,
    tools: list[str] | None,
    approvals: str | None,
) -> dict[str, Any]:
    """Return the entries to write. Raises `InvalidInput`."""
    check_address('--url', url)
    if approvals is not None:
        check_choice('--approvals', approvals, get_args(Approvals))
    values: dict[str, Any] = {}
    if command is not None:
        program, *arguments = _split(command)
        values |= {'command': program, 'args': arguments, 'url': '', 'headers': {}, 'oauth': False}
    if url is not None:
        values |= {'url': url, 'command': '', 'args': [], 'env': {}}
    settings = {
        'env': None if env is None else dict(parse_pairs('--env', env)),
        'headers': None if headers is None else dict(parse_pairs('--header', headers)),
        'oauth': oauth,
        'tools': tools,
        'approvals': '' if approvals == 'marked' else approvals,
    }
    return values | given(settings)


def _split(command: str) -> list[str]:
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise InvalidInput({'--command': f'cannot be read: {error}'}) from None
    if not parts:
        raise InvalidInput({'--command': 'names no program'})
    return parts


def _save(session: Session, name: str, values: dict[str, Any], *, new: bool, test: bool) -> None:
    async def work() -> list[ServerHealth]:
        async with open_catalog(session) as catalog:
            await save(catalog, 'mcp', name, values, new=new, what='MCP server')
            return [await catalog.mcp.test(name)] if test else []

    report_tests(asyncio.run(work()), _describe, as_json=False)


def _describe(result: ServerHealth) -> tuple[str, str]:
    offered = describe_tools(result.tools, result.unusable, named=True)
    return result.server, f'is available and offers {offered}'
