"""hemicycle user: accounts, tokens of programs, and the audit log."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

import typer

from engine import InvalidInput
from engine.host.clock import RealClock
from engine.operations import Role
from ui.app.access.access import Access
from ui.app.access.audit_log import AuditQuery, as_csv, as_json_lines, row
from ui.app.access.caller import TerminalIdentity
from ui.app.access.operations import AccountOperations, guard_accounts
from ui.cli.inputs import ask_secret, parse_time
from ui.cli.output.step_text import console
from ui.cli.record_options import OptionNote, record_options, with_options
from ui.cli.remote import connect
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.formatting.values import count, moment_text

T = TypeVar('T')


def _moment(option: str, text: Any) -> float | None:
    return parse_time(option, text, example='2026-11-23') if text else None


EPILOG = """Examples:

```
hemicycle user add ada --role admin
hemicycle user change ada --role viewer
hemicycle user change ada --password
hemicycle user token add ada ci --role operator --days 90
hemicycle user log --who ada --action start
hemicycle user log --since 2026-11-01 --csv > audit.csv
```"""
ROLE_HELP = '`viewer` can view runs, `operator` can also start and control them, `admin` can do everything.'
Name = Annotated[str, typer.Argument(metavar='NAME', help='The name of the account.')]
TIMES = {
    name: OptionNote(
        metavar='TIME',
        hint=' Such as `2026-11-23`, or with a time of day.',
        parse=functools.partial(_moment, f'--{name}'),
    )
    for name in ('since', 'until')
}
RoleOption = Annotated[Role, typer.Option('--role', help=ROLE_HELP)]


@asynccontextmanager
async def _open_access(session: Session) -> AsyncIterator[Access]:
    """Open the accounts of a database."""
    session.settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    journal = await session.storage.open(session.settings)
    try:
        yield Access(journal.documents, RealClock())
    finally:
        await journal.close()


def _with_accounts(session: Session, work: Callable[[AccountOperations], Awaitable[T]]) -> T:
    """Work with the accounts of the named server, or of a database."""

    async def run() -> T:
        if session.server:
            async with connect(session.server) as remote:
                return await work(remote.accounts)
        async with _open_access(session) as access:
            return await work(guard_accounts(access, TerminalIdentity()))

    return asyncio.run(run())


@with_session('database', 'server')
def add_user(
    name: Name,
    role: RoleOption = Role.OPERATOR,
    password: Annotated[
        bool, typer.Option(help='Whether to ask for a password, which can also be given on standard input.')
    ] = True,
    *,
    session: Session,
) -> None:
    """Add an account. Once there is one, the next server requires everyone to log in."""
    secret = ask_secret('Password', again=True) if password else ''
    if password and not secret:
        raise InvalidInput({'password': 'is empty: --no-password makes an account for tokens only'})

    async def work(accounts: AccountOperations) -> str:
        first = not await accounts.list()
        account = await accounts.add(name, Role.ADMIN if first else role, secret)
        return f'{account.name} is {_with_article(account.role)}' + (
            ': the first account is an administrator' if first else ''
        )

    typer.echo(_with_accounts(session, work))


@with_session('as_json', 'database', 'server')
def list_users(*, session: Session) -> None:
    """List the accounts."""

    async def work(accounts: AccountOperations) -> list[dict[str, object]]:
        return [
            {
                'name': account.name,
                'role': str(account.role),
                'login': account.issuer or ('password' if account.has_password else 'tokens only'),
                'created': _day(account.created),
            }
            for account in await accounts.list()
        ]

    _print(_with_accounts(session, work), session.as_json, 'There are no accounts: no login is needed.')


@with_session('database', 'server')
def remove_user(name: Name, *, session: Session) -> None:
    """Remove an account and its tokens, and log it out everywhere."""
    _with_accounts(session, lambda accounts: accounts.remove(name))


@with_session('database', 'server')
def change_user(
    name: Name,
    role: Annotated[Role | None, typer.Option('--role', help=ROLE_HELP)] = None,
    password: Annotated[
        bool,
        typer.Option('--password', help='Ask for a new password, which can also be given on standard input.'),
    ] = False,
    revoke_tokens: Annotated[
        bool,
        typer.Option(
            '--revoke-tokens', help='With --password: revoke its tokens, which work without a password.'
        ),
    ] = False,
    *,
    session: Session,
) -> None:
    """Change the role of an account, or its password; what is not given stays as it is.

    A role applies immediately. A new password logs the account out everywhere; its tokens still work.
    """
    if revoke_tokens and not password:
        raise InvalidInput({'--revoke-tokens': 'needs --password'})
    if role is None and not password:
        raise InvalidInput({'change': 'give what to change: --role, --password'})
    secret = ask_secret('Password', again=True) if password else ''

    async def work(accounts: AccountOperations) -> int:
        if role is not None:
            await accounts.set_role(name, role)
        if not password:
            return 0
        return await accounts.set_password(name, secret, revoke_tokens=revoke_tokens)

    if working := _with_accounts(session, work):
        typer.echo(f'{count(working, "token")} of {name} still work: --revoke-tokens revokes them, too')


@with_session('database', 'server')
def add_token(
    name: Name,
    label: Annotated[str, typer.Argument(metavar='LABEL', help='The purpose of the token.')],
    role: RoleOption = Role.OPERATOR,
    days: Annotated[float, typer.Option(help='Days until it expires; 0 means never.', min=0)] = 90,
    *,
    session: Session,
) -> None:
    """Add a token, and print it: only a hash is stored, so it cannot be shown again."""
    added = _with_accounts(session, lambda accounts: accounts.add_token(name, label, role, days or None))
    typer.echo(added.secret)


@with_session('as_json', 'database', 'server')
def list_tokens(
    name: Annotated[str, typer.Argument(metavar='NAME', help='Only tokens of this account.')] = '',
    *,
    session: Session,
) -> None:
    """List tokens, with their last use."""

    async def work(accounts: AccountOperations) -> list[dict[str, object]]:
        return [
            {
                'id': token.id,
                'account': token.account,
                'label': token.label,
                'role': str(token.role),
                'expires': _day(token.expires) or 'never',
                'used': _day(token.used) or 'never',
            }
            for token in await accounts.tokens(name)
        ]

    _print(_with_accounts(session, work), session.as_json, 'There are no tokens.')


@with_session('database', 'server')
def remove_token(
    id: Annotated[str, typer.Argument(metavar='ID', help='The id, as `list` shows it.')],
    *,
    session: Session,
) -> None:
    """Remove a token; programs that use it lose access immediately."""
    revoked = _with_accounts(session, lambda accounts: accounts.revoke_token(id))
    typer.echo(strip_control(f'{revoked.label} of {revoked.account} is removed'))


@with_options('values', record_options(AuditQuery, without=['limit'], notes=TIMES))
@with_session('as_json', 'database')
def log(
    *,
    values: dict[str, Any],
    limit: Annotated[
        int, typer.Option(min=1, max=1_000_000, help='Maximum number of lines, newest first.')
    ] = 100,
    csv: Annotated[bool, typer.Option('--csv', help='Print CSV.')] = False,
    session: Session,
) -> None:
    """Show who did what: logins, launches, answers, exports, changes to settings and accounts.

    Recorded once there are accounts. Events sent to a run are in its journal as well.
    """
    query = AuditQuery(**values, limit=limit)

    async def work() -> list[dict[str, object]] | str:
        async with _open_access(session) as access:
            lines = await access.audit.lines(query)
        if session.as_json or csv:
            return as_csv(lines) if csv else as_json_lines(lines)
        return [
            {**row(line), 'runs': ' '.join(line.runs), 'details': ' '.join(map(str, line.details.values()))}
            for line in lines
        ]

    lines = asyncio.run(work())
    if isinstance(lines, str):
        typer.echo(lines, nl=False)
    else:
        _print(lines, False, 'No entries match.')


def _print(rows: list[dict[str, object]], as_json: bool, empty: str) -> None:
    import json

    from rich.table import Table

    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    if not rows:
        typer.echo(empty)
        return
    table = Table(box=None, pad_edge=False, header_style='bold')
    for name in rows[0]:
        table.add_column(name, overflow='fold')
    for row in rows:
        table.add_row(*(strip_control(str(value)) for value in row.values()))
    console().print(table, markup=False)


def _day(moment: float) -> str:
    return moment_text(moment, 'UTC', seconds=False) if moment else ''


def _with_article(role: Role) -> str:
    return f'{"an" if re.match("[aeiou]", role) else "a"} {role}'
