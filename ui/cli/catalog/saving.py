"""Writes endpoints and MCP servers to the configuration file, checks what was typed, reports tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, TypeVar

import typer

from engine import Conductor, InvalidInput, LocalConductor
from engine.configuration import REFERENCE, REFERENCE_FORMS
from engine.models import EndpointHealth
from engine.operations import Endpoints, McpServers
from engine.tools import ServerHealth
from engine.tools.acp import AgentHealth
from ui.cli.exit_codes import ExitCode
from ui.cli.inputs import check_choice
from ui.cli.output.reporters import print_json
from ui.cli.remote import connect
from ui.cli.session import Session
from ui.formatting.plain_text import strip_control

Sections = Endpoints | McpServers
H = TypeVar('H', AgentHealth, EndpointHealth, ServerHealth)
NAME, MAX_NAME = re.compile(r'[a-z0-9][a-z0-9_-]*'), 32
ADDRESS = re.compile(r'https?://.+')


@asynccontextmanager
async def open_connections(session: Session) -> AsyncIterator[Conductor]:
    """Open the conductor of the named server, or one of this machine's connections; it has no runs.

    Prints why the configuration file could not be read, if so.
    """
    if session.server:
        async with connect(session.server) as remote:
            yield remote
        return
    for fault in session.catalog.faults:
        if fault.path == str(session.catalog.file):
            typer.echo(strip_control(f'not loaded: {fault.problem}'), err=True)
    async with LocalConductor(catalog=session.catalog) as conductor:
        yield conductor


async def save(
    sections: Sections, name: str, values: Mapping[str, Any], *, new: bool, what: str, **options: str
) -> None:
    """Add a section to the configuration file, or change one.

    Args:
        sections: those of its kind.
        name: its name.
        values: entries; an empty value removes an entry.
        new: whether it is added.
        what: how its kind is called, such as `endpoint`.
        options: what else is saved with it, such as a key.

    Raises:
        InvalidInput: it already exists, does not exist, or has a bad name.
        EngineError: the file cannot be written, or would be invalid.
    """
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise InvalidInput(
            {'NAME': f'must be 1 to {MAX_NAME} lower-case letters, digits, - or _, not {name!r}'}
        )
    section = await sections.get(name)
    if new and section:
        raise InvalidInput({'NAME': f'{name} is already in the configuration: change it with `change`'})
    if not new and not section:
        raise InvalidInput({'NAME': f'there is no {what} {name!r} in the configuration: add it with `add`'})
    await sections.save(name, values, **options)


def remove(session: Session, find: Callable[[Conductor], Sections], name: str, what: str) -> None:
    """Remove a section from the configuration file. Raises `EngineError`."""

    async def work() -> None:
        async with open_connections(session) as conductor:
            if not await find(conductor).get(name):
                raise InvalidInput({'NAME': f'there is no {what} {name!r} in {place_of(session)}'})
            await find(conductor).remove(name)

    asyncio.run(work())
    typer.echo(strip_control(f'removed from {place_of(session)}'), err=True)


def place_of(session: Session) -> str:
    """Return where the sections are: the configuration file, or the named server."""
    return session.server or str(session.catalog.file)


def checked_address(option: str, address: str) -> str:
    """Return an address, or ''. Raises `InvalidInput`, naming the option, for anything else."""
    if address and not ADDRESS.fullmatch(address):
        raise InvalidInput({option: f'must begin with http:// or https://, not {address!r}'})
    return address


def checked_reference(option: str, reference: str) -> str:
    """Return a reference to a key, or ''. Raises `InvalidInput`, naming the option, for the key itself."""
    if reference and not re.fullmatch(REFERENCE, reference):
        problem = f'must be {REFERENCE_FORMS}, not the key itself: paste that with --key-stdin'
        raise InvalidInput({option: problem})
    return reference


def checked_choice(option: str, choices: Collection[str], choice: str) -> str:
    """Return one of the choices, or ''. Raises `InvalidInput`, naming the option, for anything else."""
    if choice:
        check_choice(option, choice, choices)
    return choice


def names_to_test(names: Sequence[str], name: str, what: str) -> Sequence[str]:
    """Return `name`, or all if it is ''. Raises `InvalidInput` if there is none; `what` is its kind."""
    if name and name not in names:
        listed = ', '.join(names) or 'none'
        raise InvalidInput({'NAME': f'there is no {what} {name!r}; available: {listed}'})
    return [name] if name else names


def report_tests(results: Sequence[H], describe: Callable[[H], tuple[str, str]], *, as_json: bool) -> None:
    """Print the results of tests, and exit with an error if one has failed.

    Args:
        results: the results.
        describe: returns the name of what was tested, and what to say if there is no problem.
        as_json: whether to print them as JSON.
    """
    for result in results:
        if as_json:
            print_json(**asdict(result))
            continue
        name, success = describe(result)
        problem = re.sub(rf'^(MCP server )?{re.escape(name)}: ', '', result.problem)
        typer.echo(strip_control(f'{name}: {problem or success}'), err=bool(problem))
    if any(result.problem for result in results):
        raise typer.Exit(ExitCode.FAILED)
