"""A real server in its own process, which can be killed and started again on its port and database."""

import contextlib
import json
import os
import re
import signal
import time
import urllib.error
import urllib.request
from http import HTTPStatus
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from engine.models.scripted.library import scenarios
from tests.bench.servers.processes import free_port
from tests.support import forkserver

DEADLINE = 90.0
"""Maximum seconds to wait for a server's answer."""


class Server:
    """`hemicycle serve`; `pace` is the pieces of text a second that its model streams, 0 for no delay."""

    def __init__(self, folder: Path, *, pace: float = 0, patterns: Path | None = None, port: int = 0) -> None:
        self.folder, self.pace, self.patterns = folder, pace, patterns
        self.port = port or free_port()
        self.url = f'http://127.0.0.1:{self.port}'
        self.database = folder / 'runs.db'
        self.endpoints = folder / 'endpoints.toml'
        self.log = folder / 'server.log'
        self._process: ForkServerProcess | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        arguments = ['serve', '--dev', '--port', str(self.port), '--database', str(self.database)]
        if self.patterns:
            arguments += ['--patterns', str(self.patterns)]
        # With the tester's own key, tests would ask a real provider for its models.
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith('NICEGUI_') and not name.endswith('_API_KEY')
        }
        environment = inherited | {
            'HEMICYCLE_HOME': str(self.folder / 'home'),
            'HEMICYCLE_ENDPOINTS': str(self.endpoints),
            'HEMICYCLE_PACE': str(self.pace),
            'PYTHONUNBUFFERED': '1',
        }
        environment.pop('PYTEST_CURRENT_TEST', None)
        self._process = forkserver.start(arguments, environment, self.log)
        deadline = time.monotonic() + DEADLINE
        while not self._answers():
            if not self._process.is_alive() or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f'the server did not start:\n{self.log.read_text()}')
            time.sleep(0.02)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the API's answer; a `body` is sent with POST."""
        request = urllib.request.Request(f'{self.url}/api/v1{path}')
        request.add_header('Content-Type', 'application/json')
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, data, timeout=DEADLINE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f'{path}: {error.code} {error.read().decode()}') from error

    def launch(self, pattern: str, /, *, ended: bool = False, options: Any = None, **parameters: Any) -> str:
        """Start a run without a browser, if the start is not what is tested, and return its page's address.

        With `ended`, wait until it is done. `options` are launch options, such as `{'paused': True}`.
        """
        body = {'pattern': pattern, 'parameters': parameters, **(options or {})}
        run = self.ask('/runs', body)['id']
        if ended:
            outcome = self.ask(f'/runs/{run}/result?wait=60')
            assert outcome['status'] == 'done', outcome
        return f'{self.url}/runs/{run}'

    def sample(self, pattern: str, title: str = '', *, ended: bool = True) -> str:
        """Start the sample whose title matches this regular expression, as `launch` does."""
        matching = next(scenario for scenario in scenarios(pattern) if re.search(title, scenario.title))
        options = {'title': matching.title, 'tags': ['sample'], 'models': dict(matching.models)}
        return self.launch(pattern, ended=ended, options=options, **matching.parameters)

    def wait_until_kept(self, text: str) -> None:
        """Wait until a draft with this text is on disk: drafts are saved with a delay."""
        deadline = time.monotonic() + DEADLINE
        files = self.folder / 'home' / 'browser'
        while not any(text in file.read_text('utf-8') for file in files.glob('storage-user-*.json')):
            assert time.monotonic() < deadline, f'no draft has {text!r}'
            time.sleep(0.02)

    def wait_until_asked(self) -> None:
        """Wait until an agent asks for a person."""
        deadline = time.monotonic() + DEADLINE
        while not self.ask('/inbox')['items']:
            assert time.monotonic() < deadline, 'nothing asks'
            time.sleep(0.02)

    def cancel_runs(self) -> None:
        """Cancel the runs that have not ended."""
        for status in ('running', 'paused', 'waiting'):
            for run in self.ask(f'/runs?status={status}')['items']:
                with contextlib.suppress(AssertionError):  # it has just ended
                    self.ask(f'/runs/{run["id"]}/cancel', {'reason': 'the next test'})
        assert self.ask('/inbox')['items'] == []

    def kill(self) -> None:
        """Kill it (SIGKILL)."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Terminate it."""
        self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Kill it while it is working, and start it again."""
        self.kill()
        self.start()

    def _end(self, signal_number: int) -> None:
        if self._process is None:
            return
        if self._process.is_alive():
            os.kill(self._process.pid, signal_number)
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f'{self.url}/runs', timeout=30) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            return error.code == HTTPStatus.UNAUTHORIZED  # the server requires a login
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
