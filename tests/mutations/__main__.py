"""Applies one mutation after another, and runs the tests that guard what it breaks.

`python -m tests.mutations [NAME ...]`: all by default. No file is changed: a mutation is applied while its
module is imported, in a separate process, forked from one that has imported the third-party packages.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import tempfile
import traceback
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any

import pytest

from tests.mutations.mutations import MUTATIONS, Mutation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import CodeType

OURS = ('engine', 'storage', 'tests', 'ui')
PREPARED = ('engine', 'sqlmodel', 'hypothesis', 'anyio.pytest_plugin', 'anyio._backends._asyncio')
OPTIONS = (
    *('-x', '-q', '--no-header', '-p', 'no:cacheprovider', '-p', 'anyio'),
    *('-o', 'addopts=--import-mode=importlib'),  # without the ui plugin, which none of them needs
    *('-W', 'ignore::pytest.PytestConfigWarning', '-W', 'ignore::pytest.PytestAssertRewriteWarning'),
    *('-W', 'ignore::pytest.PytestUnknownMarkWarning'),  # those of plug-ins
)
MAX_SECONDS = 30
"""Seconds: a mutation that makes its tests hang has turned them red."""
DEADLINE = 2.0
"""Seconds that a test waits for a condition that a mutation may prevent for ever."""
MISSED = 90
"""Exit status where the mutated module was never imported."""


class Unfit(Exception):
    """A mutation does not apply."""


class Loader(SourceFileLoader):
    """Loads a module with a mutation in it."""

    def __init__(self, name: str, path: str, mutation: Mutation) -> None:
        super().__init__(name, path)
        self._mutation = mutation

    def get_code(self, fullname: str) -> CodeType:
        """Compile the mutated source, bypassing the cached bytecode of the original."""
        text = self._mutation.apply(self.get_data(self.path).decode())
        return compile(text, self.path, 'exec', dont_inherit=True)


class Finder(MetaPathFinder):
    """Finds the one module that a mutation is for."""

    def __init__(self, mutation: Mutation) -> None:
        self._mutation = mutation

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return the module's spec with our loader."""
        if fullname != self._mutation.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None and spec.origin is not None
        spec.loader = Loader(fullname, spec.origin, self._mutation)
        return spec


def check(mutation: Mutation) -> None:
    """Raise `Unfit` unless a mutation's text occurs exactly once in its module."""
    path = f'{mutation.module.replace(".", "/")}.py'
    if not os.path.exists(path):
        raise Unfit(f'there is no {path}')
    with open(path, encoding='utf-8') as file:
        count = file.read().count(mutation.before)
    if count != 1:
        raise Unfit(f'{path} holds its text {count} times')


def run(tests: Sequence[str], mutation: Mutation | None, log: str) -> int:
    """Run tests in a separate process, and return their exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = _run(tests, mutation, log)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run(tests: Sequence[str], mutation: Mutation | None, log: str) -> int:
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written, 1)
    os.dup2(written, 2)
    if mutation:
        signal.alarm(MAX_SECONDS)
        sys.meta_path.insert(0, Finder(mutation))
        importlib.import_module('tests.support.harness').DEADLINE = DEADLINE
    os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'  # these tests need only the one for coroutines
    status = pytest.main([*OPTIONS, *tests])
    if mutation and mutation.module not in sys.modules:
        return MISSED
    return int(status)


def prepare() -> None:
    """Import third-party packages, and unload our own modules, which each process imports again."""
    for name in PREPARED:
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition('.')[0] in OURS]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()  # the collector no longer visits shared objects, so their pages are not copied


def main(names: Iterable[str]) -> int:
    """Try the mutations of these names, or all. Returns the exit status."""
    selected = set(names) or {mutation.name for mutation in MUTATIONS}
    chosen = [mutation for mutation in MUTATIONS if mutation.name in selected]
    problems = [f'{name}: there is no such mutation' for name in selected - {item.name for item in chosen}]
    for mutation in chosen:
        try:
            check(mutation)
        except Unfit as error:
            problems.append(f'{mutation.name}: {error}')
    guards = sorted({test for mutation in chosen for test in mutation.guards})
    prepare()
    with tempfile.NamedTemporaryFile('r', suffix='.log') as log:
        if not problems and run(guards, None, log.name) != 0:
            problems.append(f'without any mutation the tests fail:\n{log.read()}')
        for mutation in chosen if not problems else ():
            status = run(mutation.guards, mutation, log.name)
            red = status in (pytest.ExitCode.TESTS_FAILED, -signal.SIGALRM)
            print(f'{"red  " if red else "GREEN"} {mutation.name}', flush=True)
            if not red:
                log.seek(0)
                problems.append(f'{mutation.name}: its tests ended with {status}\n{log.read()[-2_000:]}')
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
