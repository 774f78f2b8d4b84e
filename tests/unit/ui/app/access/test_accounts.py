"""Accounts: passwords, tokens, sessions, and limits on guessing."""

from __future__ import annotations

import asyncio

import pytest

from engine import InvalidInput, SimulatedClock
from engine.errors import JournalUnavailable, NotAllowed, SignedOut
from engine.journal import EntryQuery, MemoryJournal
from engine.journal.documents import MemoryDocuments
from engine.operations import Role
from ui.app.access.access import ATTEMPT_WINDOW, MAX_ATTEMPTS, Access, LoginRefused, network_of
from ui.app.access.accounts import MAX_IDLE_SECONDS, MAX_SESSION_SECONDS
from ui.app.access.audit_log import AuditQuery, as_csv
from ui.app.access.login import local_path
from ui.app.access.own_account import own_account
from ui.app.access.passwords import PROFILE

PASSWORD = 'correct horse battery'


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
def access(clock: SimulatedClock) -> Access:
    return Access(MemoryJournal().documents, clock)


async def log_in(
    access: Access, password: str = PASSWORD, address: str = '10.0.0.1', name: str = 'ada'
) -> str:
    return await access.log_in(name, password, address=address, agent='test')


HASH_PREFIX = '$argon2id$v=19$m=65536,t=3,p=4$'
"""The prefix of a hash: Argon2id with 64 MB and three passes, as RFC 9106 recommends for low memory."""


async def test_a_password_is_kept_as_a_hash_and_opens_a_session(
    access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('ui.app.access.passwords.PROFILE', PROFILE)
    await access.accounts.add('Ada', Role.OPERATOR, PASSWORD)
    hashed = await access.accounts.password_hash('ada')
    assert hashed.startswith(HASH_PREFIX) and PASSWORD not in hashed
    identity = await access.identify_session(await log_in(access))
    assert (identity.last_caller.name, identity.last_caller.role) == ('Ada', Role.OPERATOR)
    with pytest.raises(SignedOut):
        await access.identify_session('guessed')


async def test_an_outdated_hash_is_renewed_at_the_next_login(
    clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = MemoryJournal()
    await Access(journal.documents, clock).accounts.add('ada', Role.OPERATOR, PASSWORD)
    monkeypatch.setattr('ui.app.access.passwords.PROFILE', PROFILE)
    access = Access(journal.documents, clock)
    assert not (await access.accounts.password_hash('ada')).startswith(HASH_PREFIX)
    await log_in(access)
    assert (await access.accounts.password_hash('ada')).startswith(HASH_PREFIX)
    assert await log_in(access)


async def test_guesses_are_limited_and_allowed_again_later(access: Access, clock: SimulatedClock) -> None:
    await access.accounts.add('ada', Role.OPERATOR, PASSWORD)
    tries = await asyncio.gather(*(log_in(access, f'guess {n}') for n in range(12)), return_exceptions=True)
    assert (
        sum(isinstance(attempt, LoginRefused) and not attempt.retry_later for attempt in tries)
        == MAX_ATTEMPTS['both']
    )
    assert (
        sum(isinstance(attempt, LoginRefused) and attempt.retry_later for attempt in tries)
        == 12 - MAX_ATTEMPTS['both']
    )
    with pytest.raises(LoginRefused, match='Too many'):
        await log_in(access)  # even the right password: otherwise guessing could continue unnoticed
    assert await log_in(access, address='10.0.0.2')
    await clock.advance(ATTEMPT_WINDOW + 1)
    assert await log_in(access)
    lines = await access.audit.lines(AuditQuery(action='login'))
    assert sum(line.refused == 'too many attempts' for line in lines) == 1  # one line for the whole window


async def test_user_names_are_not_revealed(access: Access) -> None:
    await access.accounts.add('ada', Role.OPERATOR, PASSWORD)
    with pytest.raises(LoginRefused) as raised:
        await log_in(access, 'wrong password')
    with pytest.raises(LoginRefused) as unknown:
        await log_in(access, 'wrong password', name='nobody')
    assert str(raised.value) == str(unknown.value)


async def test_sessions_end_when_idle_and_after_a_maximum(access: Access, clock: SimulatedClock) -> None:
    await access.accounts.add('ada', Role.OPERATOR, PASSWORD)
    secret = await access.accounts.begin_session('ada', 'password', '', '')
    lived = 0.0
    while lived + MAX_IDLE_SECONDS / 2 < MAX_SESSION_SECONDS:
        await clock.advance(MAX_IDLE_SECONDS / 2)
        lived += MAX_IDLE_SECONDS / 2
        await access.identify_session(secret)
    await clock.advance(MAX_IDLE_SECONDS / 2 + 1)
    with pytest.raises(SignedOut):
        await access.identify_session(secret)
    secret = await access.accounts.begin_session('ada', 'password', '', '')
    await clock.advance(MAX_IDLE_SECONDS + 1)
    with pytest.raises(SignedOut):
        await access.identify_session(secret)


async def test_a_new_password_ends_other_sessions(access: Access) -> None:
    await access.accounts.add('ada', Role.OPERATOR, PASSWORD)
    first = await access.identify_session(await access.accounts.begin_session('ada', 'password', '', ''))
    second = await access.identify_session(await access.accounts.begin_session('ada', 'password', '', ''))
    await access.accounts.set_password('ada', 'another fine password', keep=first.key[:16])
    await first.check()
    with pytest.raises(SignedOut):
        await second.check()


async def test_tokens_outlive_a_new_password_unless_they_are_revoked_with_it(access: Access) -> None:
    await access.accounts.add('ada', Role.OPERATOR, PASSWORD)
    secret = (await access.accounts.add_token('ada', 'ci', Role.VIEWER, 1)).secret
    identity = await access.identify_token(secret)
    assert await access.accounts.set_password('ada', 'another fine password') == 1
    await identity.check()
    assert await access.accounts.set_password('ada', PASSWORD, revoke_tokens=True) == 0
    with pytest.raises(SignedOut):
        await identity.check()


async def test_people_change_their_own_account_and_the_log_has_no_secrets(access: Access) -> None:
    await access.accounts.add('ada', Role.OPERATOR, PASSWORD)
    here, elsewhere = [await access.identify_session(await log_in(access)) for _ in range(2)]
    own = own_account(access, here)
    with pytest.raises(InvalidInput, match='is wrong'):
        await own.set_password(old='a wrong guess', new='another fine password')
    with pytest.raises(NotAllowed):
        await own.add_token(label='too much', role=Role.ADMIN, days=1)
    added = await own.add_token(label='ci', role=Role.VIEWER, days=1)
    assert await own.set_password(old=PASSWORD, new='another fine password') == 1
    assert (await here.check()).name == 'ada'
    with pytest.raises(SignedOut):
        await elsewhere.check()
    assert [token.label for token in await own.tokens()] == ['ci']
    lines = await access.audit.lines(AuditQuery(action='account.'))
    assert sorted((line.action.partition('.')[2], bool(line.refused)) for line in lines) == [
        ('add_token', False), ('add_token', True), ('set_password', False), ('set_password', True),
    ]  # fmt: skip
    secrets = (PASSWORD, 'another fine password', 'a wrong guess', added.secret)
    assert not any(secret in str(lines) for secret in secrets)


async def test_a_token_is_scoped_expires_and_can_be_revoked(access: Access, clock: SimulatedClock) -> None:
    await access.accounts.add('root', Role.ADMIN)
    await access.accounts.add('ada', Role.OPERATOR)
    added = await access.accounts.add_token('ada', 'ci', Role.VIEWER, 1)
    token, secret = added.token, added.secret
    (entry,) = await access._documents.find(EntryQuery(kind='token'))
    assert secret not in str(entry)
    await clock.advance(61)
    identity = await access.identify_token(secret)
    assert identity.last_caller.role is Role.VIEWER
    assert (await access.accounts.tokens('ada'))[0].used == clock.now()
    with pytest.raises(InvalidInput, match='cannot have a higher role'):
        await access.accounts.add_token('ada', 'too much', Role.ADMIN, 1)
    await access.accounts.revoke_token(token.id)
    with pytest.raises(SignedOut):
        await identity.check()
    secret = (await access.accounts.add_token('ada', 'ci', Role.OPERATOR, 1)).secret
    identity = await access.identify_token(secret)
    await access.accounts.set_role('ada', Role.VIEWER)
    assert (await identity.check()).role is Role.VIEWER
    await clock.advance(86_401)
    with pytest.raises(SignedOut):
        await access.identify_token(secret)


async def test_the_last_administrator_cannot_be_removed(access: Access) -> None:
    await access.accounts.add('root', Role.ADMIN)
    for work in (access.accounts.remove('root'), access.accounts.set_role('root', Role.VIEWER)):
        with pytest.raises(InvalidInput, match='only administrator'):
            await work


async def test_a_token_never_outlives_its_account(access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    await access.accounts.add('root', Role.ADMIN)
    await access.accounts.add('ada', Role.OPERATOR)
    secret = (await access.accounts.add_token('ada', 'ci', Role.OPERATOR, days=None)).secret

    async def die(self: MemoryJournal, query: EntryQuery) -> int:
        raise JournalUnavailable('the process was killed')

    with monkeypatch.context() as patch, pytest.raises(JournalUnavailable):
        patch.setattr(MemoryDocuments, 'forget', die)
        await access.accounts.remove('ada')
    assert await access.accounts.find('ada'), 'another account of that name would get the token'
    await access.accounts.remove('ada')
    await access.accounts.add('ada', Role.ADMIN)
    with pytest.raises(SignedOut):
        await access.identify_token(secret)


@pytest.mark.parametrize('password', ['short', 'aaaaaaaaaaaaaaa', 'xx-ada-2026-11-23'])
async def test_easy_passwords_are_refused(access: Access, password: str) -> None:
    with pytest.raises(InvalidInput):
        await access.accounts.add('ada', Role.VIEWER, password)


def test_an_ipv6_network_counts_as_one_address() -> None:
    assert network_of('2001:db8::1') == network_of('2001:db8::ffff') != network_of('2001:db8:0:1::1')


@pytest.mark.parametrize(
    'path', ['//evil.example', 'https://evil.example', '/\\evil.example', '\\\\evil', '/login', 'x', '/a\nb']
)
def test_a_login_redirects_to_this_server_only(path: str) -> None:
    assert local_path(path) == '/'
    assert local_path('/runs/1?at=2') == '/runs/1?at=2'


async def test_an_exported_log_runs_no_formula_in_a_spreadsheet(access: Access) -> None:
    from ui.app.access.caller import Caller

    await access.audit.write(Caller('=cmd()', Role.VIEWER), 'login')
    assert "'=cmd()" in as_csv(await access.audit.lines(AuditQuery()))
