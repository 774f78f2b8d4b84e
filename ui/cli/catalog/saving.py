"""Writes endpoints and MCP servers to the configuration file, checks what was typed, reports tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, Literal, TypeVar

import typer

from engine import Catalog, InvalidInput, LocalConductor
from engine.acp import AgentHealth
from engine.models import EndpointHealth
from engine.operations import Endpoints, McpServers
from engine.tools import ServerHealth
from ui.cli.exit_codes import ExitCode
from ui.cli.inputs import check_choice
from ui.cli.output.reporters import print_json
from ui.cli.session import Session
from ui.formatting.plain_text import strip_control

Kind = Literal['endpoints', 'mcp']
H = TypeVar('H', AgentHealth, EndpointHealth, ServerHealth)
NAME, MAX_NAME = re.compile(r'[a-z0-9][a-z0-9_-]*'), 32
ADDRESS = re.compile(r'https?://.+')
REFERENCE = re.compile(r'env:\w+|keyring:[^/]+/.+')


@asynccontextmanager
async def open_catalog(session: Session) -> AsyncIterator[Catalog]:
    """Open the session's catalog; print why the configuration file could not be read, if so."""
    catalog = session.catalog
    for fault in catalog.faults:
        if fault.path == str(catalog.file):
            typer.echo(strip_control(f'not loaded: {fault.problem}'), err=True)
    try:
        yield catalog
    finally:
        await catalog.close()


async def save(  # noqa: PLR0913  (what the commands share)
    catalog: Catalog, kind: Kind, name: str, values: Mapping[str, Any], *, new: bool, what: str
) -> None:
    """Add a section to the configuration file, or change one.

    Args:
        catalog: the catalog of the file.
        kind: the kind of section.
        name: its name.
        values: entries; an empty value removes an entry.
        new: whether it is added.
        what: how its kind is called, such as `endpoint`.

    Raises:
        InvalidInput: it already exists, does not exist, or has a bad name.
        EngineError: the file cannot be written, or would be invalid.
    """
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise InvalidInput(
            {'NAME': f'must be 1 to {MAX_NAME} lower-case letters, digits, - or _, not {name!r}'}
        )
    sections = _sections(catalog, kind)
    section = await sections.get(name)
    if new and section:
        raise InvalidInput({'NAME': f'{name} is already in {catalog.file}: change it with `change`'})
    if not new and not section:
        raise InvalidInput({'NAME': f'there is no {what} {name!r} in {catalog.file}: add it with `add`'})
    await sections.save(name, values)
    typer.echo(strip_control(f'saved in {catalog.file}'), err=True)


def remove(session: Session, kind: Kind, name: str, what: str) -> None:
    """Remove a section from the configuration file. Raises `EngineError`."""

    async def work() -> None:
        async with open_catalog(session) as catalog:
            sections = _sections(catalog, kind)
            if not await sections.get(name):
                raise InvalidInput({'NAME': f'there is no {what} {name!r} in {catalog.file}'})
            await sections.remove(name)
            typer.echo(strip_control(f'removed from {catalog.file}'), err=True)

    asyncio.run(work())


def _sections(catalog: Catalog, kind: Kind) -> Endpoints | McpServers:
    conductor = LocalConductor(catalog=catalog)
    return conductor.endpoints if kind == 'endpoints' else conductor.mcp_servers


def checked_address(option: str, address: str) -> str:
    """Return an address, or ''. Raises `InvalidInput`, naming the option, for anything else."""
    if address and not ADDRESS.fullmatch(address):
        raise InvalidInput({option: f'must begin with http:// or https://, not {address!r}'})
    return address


def checked_reference(option: str, reference: str) -> str:
    """Return a reference to a key, or ''. Raises `InvalidInput`, naming the option, for the key itself."""
    if reference and not REFERENCE.fullmatch(reference):
        raise InvalidInput({option: 'must be env:NAME or keyring:SERVICE/USER, not the key itself'})
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
