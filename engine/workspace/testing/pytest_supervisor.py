"""Runs pytest in a separate process and reports the results; its source text is run in the sandbox.

The code under test shares a process with pytest: it can write any file and exit with any status, so neither
is trusted. Each result arrives through a pipe with a token that only the plugin holds. This process, whose
memory nothing in the sandbox can read, writes the report once all processes of the tests have ended, and
succeeds only if every test has.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import re
import secrets
import select
import signal
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
PATH_BENEATH, MOVE_FILES = 1, 1 << 13
ILLEGAL = re.compile(r'[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
"""Characters not allowed in XML."""


class _Plugin:
    """Reports each test to the supervisor as it ends."""

    def __init__(self, pipe: int, token: str) -> None:
        def tell(kind: str, value: object) -> None:
            os.write(pipe, f'{json.dumps([token, kind, value])}\n'.encode())

        self._send = tell
        self._pytest: dict[str, Any] = {}

    def pytest_load_initial_conftests(self) -> None:
        # Not earlier, so that no file of the workspace can replace pytest or a plugin.
        sources = os.environ.get('PYTHONPATH', '').split(os.pathsep)
        sys.path[:0] = [os.getcwd(), *filter(None, sources)]

    def pytest_collection(self) -> None:
        self._pytest = _code_of_pytest()

    def pytest_collection_finish(self, session: Any) -> None:
        self._send('collected', [item.nodeid for item in session.items])

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._send('error', [report.nodeid, str(report.longrepr)])

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = 'error' if report.failed and report.when != 'call' else report.outcome
        if outcome != 'passed':
            self._send(outcome, [report.nodeid, '' if outcome == 'skipped' else report.longreprtext])
        if report.when == 'teardown':
            self._send('ended', [report.nodeid, ''])

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        changed = [
            name for name, code in _code_of_pytest().items() if self._pytest.get(name, code) is not code
        ]
        if changed:
            self._send('error', ['pytest', f'The code under test has changed pytest: {", ".join(changed)}.'])
        self._send('finished', int(exitstatus))


def _code_of_pytest() -> dict[str, Any]:
    """Return the code objects of pytest's functions and methods, by name."""
    codes = {}
    for module_name, module in list(sys.modules.items()):
        if module_name.split('.')[0] in ('_pytest', 'pluggy'):
            classes = [member for member in vars(module).values() if isinstance(member, type)]
            for place in (module, *(member for member in classes if member.__module__ == module_name)):
                for name, value in vars(place).items():
                    code = getattr(getattr(value, '__func__', value), '__code__', None)
                    if code is not None:
                        codes[f'{module_name}.{getattr(place, "__qualname__", "")}.{name}'] = code
    return codes


def _restrict_memory_access() -> None:
    """Bar this process from the memory of outer ones, such as the shell whose exit status counts.

    A process in a Landlock domain cannot trace those outside. This domain has no other effect: its only rule
    allows the only access that it restricts. Older kernels lack Landlock.
    """
    call, number = ctypes.CDLL(None).syscall, ctypes.c_long
    rules = call(number(LANDLOCK_CREATE_RULESET), struct.pack('=Q', MOVE_FILES), number(8), number(0))
    if rules >= 0:
        everywhere = struct.pack('=Qi', MOVE_FILES, os.open('/', os.O_PATH))
        call(number(LANDLOCK_ADD_RULE), rules, PATH_BENEATH, everywhere, number(0))
        call(number(LANDLOCK_RESTRICT_SELF), rules, number(0))


def _end_children() -> None:
    """Kill all processes that the tests have started, which could overwrite the report."""
    while True:
        try:
            with open(f'/proc/self/task/{os.getpid()}/children') as children:
                for child in children.read().split():
                    os.kill(int(child), signal.SIGKILL)
            os.waitpid(-1, 0)
        except OSError:
            return  # none is left


def _import_pytest(spare: str) -> Any:
    """Import the pytest of this environment, or the one in the folder `spare` and nothing else from there."""
    if importlib.util.find_spec('pytest') is None:
        sys.path.append(spare)
        for name in ('iniconfig', 'packaging', 'pluggy', 'pygments', 'pytest'):
            importlib.import_module(name)
        sys.path.remove(spare)
    return importlib.import_module('pytest')


def _run_tests(pipe: int, token: str, spare: str, arguments: Sequence[str]) -> int:
    pytest = _import_pytest(spare)
    # As `python -m pytest` does, but after the import, so that no file here can replace pytest.
    sys.path.insert(0, os.getcwd())
    return int(pytest.main(list(arguments), plugins=[_Plugin(pipe, token)]))


def _output_lines(pipe: int, child: int) -> Iterator[bytes]:
    """Yield the child's output by line until it exits; processes it leaves behind may keep the pipe open."""
    rest, is_over = b'', False
    while True:
        is_over = is_over or os.waitpid(child, os.WNOHANG)[0] != 0
        if not select.select([pipe], [], [], 0 if is_over else 0.05)[0]:
            if is_over:
                return
            continue
        piece = os.read(pipe, 1 << 16)
        if not piece and is_over:
            return
        *whole, rest = (rest + piece).split(b'\n')
        yield from whole
        if not piece:
            time.sleep(0.05)  # it has closed the pipe but continues


def _junit_name(node: str) -> tuple[str, str]:
    """Return a test's class and name as in JUnit XML."""
    path, bracket, parameters = node.partition('[')
    names = path.split('::')
    names[0] = names[0].replace('/', '.').removesuffix('.py')
    return '.'.join(names[:-1]), f'{names[-1]}{bracket}{parameters}'


def _write(report: str, cases: dict[str, tuple[str, str]], seconds: float) -> None:
    suite = ElementTree.Element('testsuite', time=f'{seconds:.3f}')
    for node, (outcome, text) in cases.items():
        place, name = _junit_name(ILLEGAL.sub('?', node))
        case = ElementTree.SubElement(suite, 'testcase', classname=place, name=name)
        if outcome != 'passed':
            tag = {'failed': 'failure', 'error': 'error', 'skipped': 'skipped'}[outcome]
            ElementTree.SubElement(case, tag).text = ILLEGAL.sub('?', text)
    ElementTree.ElementTree(suite).write(report, 'utf-8')


def main(report: str, spare: str, *arguments: str) -> int:
    """Run pytest with these arguments and write the report; returns the exit status.

    Args:
        report: the path of the report.
        spare: a folder with a pytest, for an environment that has none.
        arguments: pytest's arguments.
    """
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    token, started = secrets.token_hex(16), time.monotonic()
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        _restrict_memory_access()
        os._exit(_run_tests(writing, token, spare, arguments))
    os.close(writing)
    collected: list[str] = []
    cases: dict[str, tuple[str, str]] = {}
    ended: set[str] = set()
    status: int | None = None
    for line in _output_lines(reading, child):
        try:
            sender, kind, value = json.loads(line)
        except (ValueError, TypeError):
            sender = None
        if sender != token or status is not None:
            print('The code under test wrote where only pytest reports.')
            return 1
        if kind == 'collected':
            collected = value
        elif kind == 'finished':
            status = value
        elif kind == 'ended':
            ended.add(value[0])
            cases.setdefault(value[0], ('passed', ''))
        else:
            cases[value[0]] = (kind, value[1])
    for node in collected:
        if node not in ended and (status is None or node not in cases):
            cases[node] = ('error', 'It did not run to its end: the process exited first.')
    _end_children()
    _write(report, cases, time.monotonic() - started)
    failed = any(outcome in ('failed', 'error') for outcome, _ in cases.values())
    return 1 if failed else 2 if status is None else status


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
