"""A PostgreSQL server for tests: in a temporary folder, on a socket there, removed afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import psycopg

USER = 'tester'
FAST = {
    'fsync': 'off',
    'full_page_writes': 'off',
    'listen_addresses': '',
    'max_connections': '200',
    'shared_buffers': '16MB',
    'max_wal_senders': '0',
    'wal_level': 'minimal',
    'autovacuum': 'off',
    'jit': 'off',
}
START = 30.0
"""Seconds for a server to start, even on a busy machine."""


def binaries() -> Path | None:
    """The folder of the newest installed server."""
    paths = sorted(Path('/usr/lib/postgresql').glob('*/bin/initdb'), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which('initdb')
    return paths[-1].parent if paths else Path(on_path).resolve().parent if on_path else None


@dataclass
class PostgresServer:
    """A server that can be started and stopped; its databases survive."""

    folder: Path
    programs: Path
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    numbers: Iterator[int] = field(default_factory=count)

    def make(self) -> None:
        """Create its data folder."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, *self._user())
        self._run(
            'initdb', '-D', str(self.folder / 'data'), '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-sync'
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {**FAST, **self.settings, 'unix_socket_directories': str(self.folder)}
        settings = [part for name, value in options.items() for part in ('-c', f'{name}={value}')]
        with (self.folder / 'log').open('ab') as log:
            self.process = subprocess.Popen(
                [self.programs / 'postgres', '-D', self.folder / 'data', *settings],
                stdout=log,
                stderr=log,
                **self._identity(),
            )
        until = time.monotonic() + START
        while True:
            try:
                psycopg.connect(self.url('postgres')).close()
            except psycopg.OperationalError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """Stop it immediately, without an orderly shutdown."""
        assert self.process
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(START)

    def url(self, database: str) -> str:
        return f'postgresql://{USER}@/{database}?host={self.folder}'

    def create(self) -> str:
        """Create a database, and return its URL."""
        name = f'test{next(self.numbers)}'
        with psycopg.connect(self.url('postgres'), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE {name} TEMPLATE template0')  # type: ignore[arg-type]
        return self.url(name)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self.programs / program, *arguments], check=True, capture_output=True, **self._identity()
        )

    def _identity(self) -> dict[str, str]:
        """Return whom to run as: the server refuses to run as root."""
        user, group = self._user()
        return {'user': user, 'group': group, 'cwd': str(self.folder)} if os.geteuid() == 0 else {}

    @staticmethod
    def _user() -> tuple[str, str]:
        return 'postgres', 'postgres'


def empty(url: str) -> None:
    """Remove all rows of a journal's database."""
    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass('run')").fetchone() != (None,):
            connection.execute('TRUNCATE run, reservation, entry RESTART IDENTITY CASCADE')


@contextmanager
def postgres_server(**settings: str) -> Iterator[PostgresServer | None]:
    """Yield a running server, or None if PostgreSQL is not installed."""
    programs = binaries()
    if programs is None:
        yield None
        return
    server = PostgresServer(Path(mkdtemp(prefix='pg-')), programs, settings)
    try:
        server.make()
        server.start()
        yield server
    finally:
        if server.process and server.process.poll() is None:
            server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)
