"""Serving: which host and port, who serves a database, the secret, and how a server ends."""

import asyncio
import contextlib
import logging
import signal
import socket
import stat
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from engine import Catalog, Conductor, JournalUnavailable
from tests.commandline import DEADLINE, Hemicycle, ended, line, until
from ui.commands.exits import Refused
from ui.serving.logs import OneLine
from ui.serving.opening import Opening
from ui.serving.serve import address, check_host, listen, secret


@pytest.mark.parametrize('host', ['127.0.0.1', '127.0.0.2', 'localhost', '::1'])
def test_this_machine_may_be_served(host: str) -> None:
    check_host(host)


@pytest.mark.parametrize('host', ['0.0.0.0', '::', '192.168.1.5', 'example.org', ''])
def test_other_machines_are_refused(tmp_path: Path, host: str) -> None:
    result = Hemicycle(tmp_path)('serve', '--host', host)
    assert (result.exit_code, result.stdout) == (2, '')
    assert 'there is no login yet' in result.stderr
    assert result.stderr.count('\n') == 1


def test_a_free_port_is_taken_as_it_is() -> None:
    with listen('127.0.0.1', 0) as found:
        assert address(found) == f'http://127.0.0.1:{found.getsockname()[1]}'


def test_a_taken_port_gives_way_to_the_next() -> None:
    with listen('127.0.0.1', 0) as first:
        taken = first.getsockname()[1]
        with listen('127.0.0.1', taken) as second:
            assert taken < second.getsockname()[1] < taken + 100


def test_a_port_that_cannot_be_had_is_named() -> None:
    with pytest.raises(Refused, match=r'port 8080 of 203\.0\.113\.7 cannot be used'):
        listen('203.0.113.7', 8080)


def test_connections_send_at_once() -> None:
    with listen('127.0.0.1', 0) as found, socket.create_connection(found.getsockname()):
        accepted, _ = found.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_secret_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    first = secret(tmp_path)
    assert len(first) >= 32
    assert secret(tmp_path) == first
    assert stat.S_IMODE((tmp_path / 'secret').stat().st_mode) == 0o600


def test_a_line_of_the_log_is_one_line() -> None:
    try:
        raise ValueError('two\nlines\x1b[31m')
    except ValueError:
        record = logging.LogRecord('a', logging.ERROR, __file__, 1, 'it\nbroke', (), sys.exc_info())
    assert OneLine('%(message)s').format(record) == 'it broke (ValueError: two lines[31m)'


def test_a_server_tells_its_address_first_and_refuses_a_second(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    with socket.create_server(('127.0.0.1', 0)) as other:
        port = other.getsockname()[1]
        with hemicycle.process('serve', '--port', str(port)) as server:
            said = line(server.stdout)
            assert said.startswith('Hemicycle is at http://127.0.0.1:')
            assert said.endswith(f' (port {port} is taken)')
            url = said.split()[3]
            # The request waits for the server, which listens before it says so.
            with urllib.request.urlopen(url, timeout=DEADLINE) as page:
                assert page.status == 200

            second = hemicycle('serve', '--port', '0')
            assert (second.exit_code, second.stdout) == (2, '')
            assert f'at {url} (pid {server.pid})' in second.stderr
            assert second.stderr.count('\n') == 1

            # Looking, and running beside the server, is allowed.
            assert hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '-q').exit_code == 0
            assert 'done' in hemicycle('runs').stdout

            server.send_signal(signal.SIGINT)
            code, out, err = ended(server)
    assert (code, out) == (0, '')
    assert 'Traceback' not in err
    assert not list(hemicycle.home.glob('*.locks/owner-*'))


async def test_requests_wait_until_the_runs_go_on() -> None:
    seen: list[str] = []
    opening = Opening(opened(seen))

    @contextlib.asynccontextmanager
    async def lifespan(served: object) -> AsyncIterator[None]:
        async def start() -> None:
            await opening()
            await asyncio.sleep(0)
            seen.append('recovered')

        started = asyncio.create_task(start())
        yield
        await started

    async with opening.before(lifespan)(None):
        seen.append('served')
    assert seen == ['opened', 'recovered', 'served']


async def test_a_database_that_cannot_be_opened_ends_the_server() -> None:
    opening = Opening(opened([], JournalUnavailable('the disk is full')))

    @contextlib.asynccontextmanager
    async def lifespan(served: object) -> AsyncIterator[None]:
        started = asyncio.create_task(opening())
        yield
        await asyncio.wait([started])
        assert str(started.exception()) == 'the disk is full'

    told: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
    try:
        async with opening.before(lifespan)(None):
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert told == [signal.SIGINT]
    assert str(opening.failure) == 'the disk is full'


def opened(seen: list[str], error: Exception | None = None) -> Callable[[], Awaitable[Conductor]]:
    async def open_conductor() -> Conductor:
        await asyncio.sleep(0)
        if error:
            raise error
        seen.append('opened')
        return Conductor(catalog=Catalog())

    return open_conductor


def test_failures_of_runs_are_logged(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    odd = ('--patterns', str(hemicycle.patterns))
    with hemicycle.process('run', 'endless', *odd) as process:
        hemicycle.reaches(1, process)
        process.kill()
    file = hemicycle.patterns / 'odd.py'
    file.write_text(
        file.read_text().replace('await asyncio.Event().wait()', "raise ValueError('the well is dry')")
    )
    log = hemicycle.home / 'hemicycle.log'
    with hemicycle.process('serve', '--port', '0', *odd) as server:
        line(server.stdout)
        until(lambda: 'the well is dry' in (log.read_text() if log.exists() else ''), 'the failure is logged')
        server.terminate()
        code, _, err = ended(server)
    assert code == 0
    failure = next(said for said in err.splitlines() if 'the well is dry' in said)
    assert 'ERROR' in failure
    assert 'failed working' in failure
    assert any('is failed: ' in said for said in err.splitlines())
