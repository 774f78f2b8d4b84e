"""Serving: host and port, one server per database, the session secret, and shutting down."""

import asyncio
import contextlib
import errno
import logging
import os
import resource
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import httpx
import pytest

from tests.support.cli import DEADLINE, Hemicycle, line, until, wait_for_exit
from ui.server.grace import grace_period
from ui.server.logs import OneLineFormatter
from ui.server.serve import (
    CannotServe,
    check_host,
    listen,
    page_url,
    session_secret,
    valid_origin,
)


@pytest.mark.parametrize('host', ['127.0.0.1', '127.0.0.2', 'localhost', '::1'])
def test_this_machine_may_be_served(host: str) -> None:
    check_host(host, login=False)


@pytest.mark.parametrize(
    'text',
    ['*', 'tool.example', 'https://', 'https://tool.example/app', 'https://a@tool.example', 'file://x'],
)
def test_an_invalid_origin_is_refused(text: str) -> None:
    with pytest.raises(CannotServe, match='--origin must be a site'):
        valid_origin(text)
    assert valid_origin('https://Tool.example:8443/') == 'https://tool.example:8443'


@pytest.mark.parametrize('host', ['0.0.0.0', '::', '192.168.1.5', 'example.org', ''])
def test_other_machines_are_refused(tmp_path: Path, host: str) -> None:
    result = Hemicycle(tmp_path)('serve', '--host', host)
    assert (result.exit_code, result.stdout) == (2, '')
    assert 'hemicycle user add' in result.stderr
    assert result.stderr.count('\n') == 1
    assert not Hemicycle(tmp_path).database.exists()


def test_driving_runs_needs_temporal(tmp_path: Path) -> None:
    result = Hemicycle(tmp_path)('serve', '--drive')
    assert (result.exit_code, result.stdout) == (2, '')
    assert '--drive: needs --temporal' in result.stderr


def test_a_free_port_is_used() -> None:
    with listen('127.0.0.1', 0) as listener:
        assert page_url(listener) == f'http://127.0.0.1:{listener.getsockname()[1]}'


def test_a_taken_port_gives_way_to_the_next() -> None:
    with listen('127.0.0.1', 0) as first:
        used_port = first.getsockname()[1]
        with listen('127.0.0.1', used_port) as second:
            assert used_port < second.getsockname()[1] < used_port + 100


def test_an_unavailable_port_is_named() -> None:
    with pytest.raises(CannotServe, match=r'port 8080 of 203\.0\.113\.7 cannot be used'):
        listen('203.0.113.7', 8080)


def test_connections_disable_nagle() -> None:
    with listen('127.0.0.1', 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_secret_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    first = session_secret(tmp_path)
    assert len(first) >= 32
    assert session_secret(tmp_path) == first
    assert stat.S_IMODE((tmp_path / 'secret').stat().st_mode) == 0o600


def test_a_secret_needs_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, 'Operation not permitted')

    monkeypatch.setattr(os, 'link', refuse)
    assert session_secret(tmp_path) == session_secret(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ['secret']


def test_servers_may_share_a_strong_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HEMICYCLE_SECRET', ' a secret that all of them were given ')
    assert session_secret(tmp_path) == 'a secret that all of them were given'
    assert not (tmp_path / 'secret').exists()
    monkeypatch.setenv('HEMICYCLE_SECRET', 'short')
    with pytest.raises(CannotServe, match='HEMICYCLE_SECRET must have at least 32 characters'):
        session_secret(tmp_path)


async def test_calls_may_finish_until_the_next_signal() -> None:
    with grace_period(1_000.0) as grace:
        signal.raise_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE):
            await grace


def test_a_line_of_the_log_is_one_line() -> None:
    try:
        raise ValueError('two\nlines\x1b[31m')
    except ValueError:
        record = logging.LogRecord('a', logging.ERROR, __file__, 1, 'it\nbroke', (), sys.exc_info())
    assert OneLineFormatter('%(message)s').format(record) == 'it broke (ValueError: two lines[31m)'


def test_a_server_prints_its_address_first_and_refuses_a_second(hemicycle: Hemicycle) -> None:
    with socket.create_server(('127.0.0.1', 0)) as other:
        port = other.getsockname()[1]
        with hemicycle.process('serve', '--port', str(port)) as server:
            printed = line(server.stdout)
            assert printed.startswith('Hemicycle is at http://127.0.0.1:')
            assert printed.endswith(f' (port {port} is taken)')
            url = printed.split()[3]
            # The request waits for the server, which listens before it prints its address.
            with urllib.request.urlopen(url, timeout=DEADLINE) as page:
                assert page.status == 200
            assert stat.S_IMODE((hemicycle.home / 'browser').stat().st_mode) == 0o700
            for path in ('/api/v1/patterns', '/healthz'):
                with urllib.request.urlopen(url + path, timeout=DEADLINE) as answer:
                    assert 'Set-Cookie' not in answer.headers  # programs get no session of the pages

            second = hemicycle('serve', '--port', '0')
            assert (second.exit_code, second.stdout) == (2, '')
            assert f'at {url} (pid {server.pid})' in second.stderr
            assert second.stderr.count('\n') == 1

            # Reading, and running next to the server, is allowed.
            assert hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '-q').exit_code == 0
            assert 'done' in hemicycle('runs', 'list').stdout

            server.send_signal(signal.SIGINT)
            code, out, err = wait_for_exit(server)
    assert (code, out) == (0, '')
    assert 'Traceback' not in err
    assert not list(hemicycle.home.glob('*.locks/owner-*'))


def test_failures_of_runs_are_logged(hemicycle: Hemicycle) -> None:
    pattern_options = ('--patterns', str(hemicycle.patterns))
    with hemicycle.process('run', 'endless', *pattern_options) as process:
        hemicycle.reaches(1, process)
        process.kill()
    file = hemicycle.patterns / 'odd.py'
    file.write_text(
        file.read_text().replace('await asyncio.Event().wait()', "raise ValueError('the well is dry')")
    )
    log = hemicycle.home / 'hemicycle.log'
    with hemicycle.process('serve', '--port', '0', *pattern_options) as server:
        line(server.stdout)
        until(lambda: 'the well is dry' in (log.read_text() if log.exists() else ''), 'the failure is logged')
        server.terminate()
        code, _, err = wait_for_exit(server)
    assert code == 0
    failure = next(entry for entry in err.splitlines() if 'the well is dry' in entry)
    assert 'ERROR' in failure
    assert 'failed working' in failure
    assert any('is failed: ' in entry for entry in err.splitlines())


def test_a_damaged_run_is_set_aside(hemicycle: Hemicycle) -> None:
    pattern_options = ('--patterns', str(hemicycle.patterns))
    runs = []
    for _ in range(3):
        with hemicycle.process('run', 'endless', *pattern_options) as process:
            until(
                lambda: bool((new := hemicycle.find_newest()) and new.id not in runs and new.seq),
                'a run has begun',
            )
            process.kill()
        runs.append(hemicycle.newest().id)
    with contextlib.closing(sqlite3.connect(hemicycle.database)) as file, file:
        file.execute("UPDATE launch SET options = '{' WHERE run = (SELECT min(run) FROM launch)")
        file.execute('DELETE FROM "transition" WHERE run = (SELECT max(run) FROM launch)')
    log = hemicycle.home / 'hemicycle.log'
    with hemicycle.process('serve', '--port', '0', *pattern_options) as server:
        url = line(server.stdout).split()[3]
        for path in ('/', '/runs'):
            with urllib.request.urlopen(url + path, timeout=DEADLINE) as page:
                assert page.status == 200
        response = httpx.get(f'{url}/runs/{runs[2]}', timeout=DEADLINE)
        answered = httpx.get(f'{url}/api/v1/runs/{runs[2]}/view', timeout=DEADLINE)
        aside = httpx.get(f'{url}/api/v1/server', timeout=DEADLINE).json()['stranded']
        server.terminate()
        code, _, _ = wait_for_exit(server)
    missing = f'tep 1 of run {runs[2]} is missing; put a backup of the database in its place'
    assert (
        response.status_code == 500
        and 'The database is damaged' in response.text
        and missing in response.text
    )
    assert answered.status_code == 500 and missing in answered.json()['detail']
    assert (
        answered.json()['type'] == 'urn:hemicycle:journal-damaged' and 'Retry-After' not in answered.headers
    )
    assert runs[0] in aside and missing in aside[runs[2]]
    text = log.read_text()
    assert f'run {runs[2]} cannot continue: s{missing}' in text
    assert code == 0
    assert f'run {runs[0]} cannot continue: the row of run {runs[0]} in the database is damaged' in text
    assert f'run {runs[1]} continues' in text


def test_a_server_is_ready_while_runs_are_still_to_continue(hemicycle: Hemicycle) -> None:
    (hemicycle.patterns / 'slow.py').write_text(
        'import asyncio\nfrom engine.runtime.live_runs import LiveRuns\n'
        'async def recover(*given, **more): await asyncio.Event().wait()\nLiveRuns.recover = recover\n'
    )
    with hemicycle.process('serve', '--port', '0', '--patterns', str(hemicycle.patterns)) as server:
        url = line(server.stdout).split()[3]
        assert httpx.get(f'{url}/readyz', timeout=DEADLINE).status_code == 200
        server.terminate()
        code, _, _ = wait_for_exit(server)
    assert code == 0


def test_a_server_that_fails_to_start_exits(hemicycle: Hemicycle) -> None:
    (hemicycle.patterns / 'short.py').write_text(
        'from engine.runtime.live_runs import LiveRuns\n'
        'async def recover(*given, **more): raise MemoryError\nLiveRuns.recover = recover\n'
    )
    with hemicycle.process('serve', '--port', '0', '--patterns', str(hemicycle.patterns)) as server:
        code, _, err = wait_for_exit(server)
    assert code == 2 and 'the server could not start: MemoryError' in err


@pytest.mark.parametrize(('megabytes', 'command'), [(64, 'show'), (64, 'serve'), (640, 'serve')])
def test_a_command_without_enough_memory_exits_immediately(
    tmp_path: Path, megabytes: int, command: str
) -> None:
    ended = subprocess.run(
        [sys.executable, '-m', 'ui', command],
        env=os.environ | {'HEMICYCLE_HOME': str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20)),
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    assert (ended.returncode, ended.stdout, ended.stderr.count('\n')) == (2, '', 1), ended.stderr
    assert f'MB of address space are needed, and {megabytes} MB are allowed' in ended.stderr


def test_a_server_continues_the_run_of_a_killed_process(hemicycle: Hemicycle) -> None:
    pattern_options = ('--patterns', str(hemicycle.patterns))
    log = hemicycle.home / 'hemicycle.log'
    # Started before the server, which would otherwise execute the run for `hemicycle run`.
    with hemicycle.process('run', 'endless', *pattern_options) as stopped:
        hemicycle.reaches(1, stopped)
        stopped.send_signal(signal.SIGINT)
        wait_for_exit(stopped)
    info = hemicycle.newest()
    with hemicycle.process('run', 'endless', *pattern_options) as killed:
        until(lambda: (new := hemicycle.newest()) != info and new.seq > 0, 'it has begun')
        with hemicycle.process('serve', '--port', '0', *pattern_options) as server:
            address = line(server.stdout).split()[-1]
            assert httpx.get(f'{address}/api/v1/server', timeout=DEADLINE).is_success  # It has started.
            killed.kill()
            run = hemicycle.newest()
            until(lambda: f'run {run.id} continues here' in log.read_text(), 'it is adopted')
            assert f'run {info.id} continues' not in log.read_text()
            server.terminate()
            assert wait_for_exit(server)[0] == 0
