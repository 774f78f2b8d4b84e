"""hemicycle endpoint: the endpoints of models: list, test, add, change and remove them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from engine import Conductor, InvalidInput, LocalConductor
from engine.configuration import EndpointSection
from engine.models import PROVIDERS, EndpointHealth, EndpointInfo
from ui.cli.catalog.saving import (
    checked_address,
    checked_choice,
    checked_reference,
    names_to_test,
    open_connections,
    place_of,
    remove,
    report_tests,
    save,
)
from ui.cli.inputs import ask_secret
from ui.cli.output.reporters import print_json
from ui.cli.record_options import OptionNote, check_changes, record_options, with_options
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.formatting.values import count

EPILOG = """Examples:

```
hemicycle endpoint list
hemicycle endpoint test anthropic
hemicycle endpoint add anthropic --key-stdin
hemicycle endpoint add openai --key-stdin < key.txt
hemicycle endpoint add house --url https://llm.team.example/v1 --key env:HOUSE_KEY --model big --model small
hemicycle endpoint change house --model big
hemicycle endpoint remove house
```

Exit code: **0** done · **1** a test failed · **2** bad input, or refused"""
Name = Annotated[str, typer.Argument(metavar='NAME', help='Its models are called NAME/MODEL.')]
NOTES = {
    'provider': OptionNote(parse=functools.partial(checked_choice, '--provider', sorted(PROVIDERS))),
    'url': OptionNote(parse=functools.partial(checked_address, '--url')),
    'key': OptionNote(metavar='WHERE', parse=functools.partial(checked_reference, '--key')),
}
OTHERS = EndpointSection.model_fields.keys() - {*NOTES, 'models'}
"""Fields that are set in the configuration file alone."""
OPTIONS = record_options(EndpointSection, without=OTHERS, notes=NOTES, changes=True)
KeyStdin = Annotated[
    bool,
    typer.Option(
        '--key-stdin',
        help='Ask for the key itself, or read it from standard input. It is kept in the system’s keyring or,'
        ' without one, in a file that only you can read.',
    ),
]
Test = Annotated[bool, typer.Option('--test/--no-test', help='Test it afterwards.')]


@with_session('as_json', 'server')
def list_endpoints(*, session: Session) -> None:
    """List the endpoints: of the configuration file, the environment, and found on this machine."""

    async def work() -> Sequence[EndpointInfo]:
        async with open_connections(session) as conductor:
            return await _find(conductor)

    infos = asyncio.run(work())
    for info in infos:
        if session.as_json:
            print_json(**asdict(info))
            continue
        key = f'key: {info.key}' if info.key else 'no key'
        models = f'models: {", ".join(info.models)}' if info.models else 'models: unknown until tested'
        facts = [info.url, f'from {info.found}', key, info.problem or models]
        typer.echo(strip_control(f'{info.endpoint}  {" · ".join(facts)}'))
    if not infos and not session.as_json:
        typer.echo('no endpoint is configured: the simulated model plays all roles')


@with_session('as_json', 'server')
def test(
    name: Annotated[str, typer.Argument(metavar='NAME', help='The endpoint; by default all.')] = '',
    *,
    model: Annotated[str, typer.Option(metavar='MODEL', help='The model of NAME that is asked.')] = '',
    session: Session,
) -> None:
    """Ask endpoints for their models.

    One model is also asked for a single word, which may cost a fraction of a cent: the first of the
    configuration, or a small one of a known provider.
    """
    if model and not name:
        raise InvalidInput({'--model': 'needs NAME'})

    async def work() -> Sequence[EndpointHealth]:
        async with open_connections(session) as conductor:
            names = [info.endpoint for info in await _find(conductor)]
            return await asyncio.gather(
                *(
                    conductor.endpoints.test(each, model=model)
                    for each in names_to_test(names, name, 'endpoint')
                )
            )

    report_tests(asyncio.run(work()), _describe, as_json=session.as_json)


@with_options('values', OPTIONS)
@with_session('server')
def add(
    name: Name, *, values: dict[str, Any], key_stdin: KeyStdin = False, test: Test = True, session: Session
) -> None:
    """Add an endpoint to the configuration file, and test it.

    A running server that `--server` does not name uses it after its next start.
    """
    if values.get('provider', name) not in PROVIDERS and not values.get('url'):
        providers = ', '.join(sorted(PROVIDERS))
        raise InvalidInput({'--url': f'is needed unless --provider or NAME is one of {providers}'})
    _save(session, name, values, new=True, key=_ask_key(values, key_stdin), test=test)


@with_options('values', OPTIONS)
@with_session('server')
def change(
    name: Name, *, values: dict[str, Any], key_stdin: KeyStdin = False, test: Test = True, session: Session
) -> None:
    """Change an endpoint of the configuration file, and test it; what is not given stays as it is.

    An empty value removes an entry, such as `--url ""`. A running server that `--server` does not name uses
    it after its next start.
    """
    key = _ask_key(values, key_stdin)
    if not key:
        check_changes(values, OPTIONS)
    _save(session, name, values, new=False, key=key, test=test)


@with_session('server')
def remove_endpoint(name: Name, *, session: Session) -> None:
    """Remove an endpoint from the configuration file; runs that use it fail at their next call.

    A running server that `--server` does not name uses it until it ends.
    """
    remove(session, lambda conductor: conductor.endpoints, name, 'endpoint')


async def _find(conductor: Conductor) -> Sequence[EndpointInfo]:
    """Return all endpoints; those of this machine are looked for, as a server does when it starts."""
    if isinstance(conductor, LocalConductor):
        await conductor.endpoints.discover()
    return await conductor.endpoints.list()


def _ask_key(values: dict[str, Any], is_asked: bool) -> str:
    """Return the key that a person enters, or ''. Raises `InvalidInput`."""
    if not is_asked:
        return ''
    if 'key' in values:
        raise InvalidInput({'--key-stdin': 'cannot be used with --key'})
    if key := ask_secret('Key').strip():
        return key
    raise InvalidInput({'--key-stdin': 'no key was given'})


def _save(session: Session, name: str, values: dict[str, Any], *, new: bool, key: str, test: bool) -> None:
    if values.get('provider') == name:
        values['provider'] = ''

    async def work() -> list[EndpointHealth]:
        async with open_connections(session) as conductor:
            await save(conductor.endpoints, name, values, new=new, what='endpoint', secret=key)
            typer.echo(strip_control(f'saved in {place_of(session)}'), err=True)
            return [await conductor.endpoints.test(name)] if test else []

    report_tests(asyncio.run(work()), _describe, as_json=False)


def _describe(result: EndpointHealth) -> tuple[str, str]:
    offers = f'is available and offers {count(len(result.models), "model")}'
    return result.endpoint, f'{result.called} answered a call' if result.called else offers
