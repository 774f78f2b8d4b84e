"""Python projects: their environments, the folders that imports lead to, and what is installed."""

from __future__ import annotations

import ast
import configparser
import os
import posixpath
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from engine.workspace.project import SKIPPED_DIRS
from engine.workspace.testing.test_setup import TestSetup, is_own, is_there, read_text

TEST_FILE = re.compile(r'(.*/)?(test_[^/]*|[^/]*_test)\.py')
CONDA = ('environment.yml', 'environment.yaml')
MANIFESTS = frozenset(
    {'pyproject.toml', 'setup.py', 'setup.cfg', 'tox.ini', 'noxfile.py', 'pytest.ini', 'Pipfile'}
    | {'requirements.txt', *CONDA}
)
NOT_PACKAGES = SKIPPED_DIRS | {
    'tests',
    'test',
    'fixtures',
    'testdata',
    'docs',
    'examples',
    'templates',
    'vendor',
}
"""Folders whose projects are no part of this one."""
MAX_DEPTH, MAX_ROOTS = 4, 200
REQUIREMENTS = re.compile(
    r'([^/]+/)?((dev|tests?)[-_])?requirements([-_](dev|tests?))?\.txt|([^/]+/)?requirements/(base|main|dev|tests?)\.txt'
)
TEST_GROUPS = ('dev', 'develop', 'test', 'tests', 'testing')
"""Usual names of extras and dependency groups with what tests need."""
MANAGERS = {
    'uv': ('uv.lock', 'UV_PYTHON_DOWNLOADS=never', 'sync --all-packages'),
    'poetry': ('poetry.lock', 'POETRY_VIRTUALENVS_IN_PROJECT=true', 'install --all-extras'),
    'pdm': ('pdm.lock', 'PDM_CHECK_UPDATE=false', 'install -G :all'),
    'pipenv': ('Pipfile', 'PIPENV_VENV_IN_PROJECT=1', 'install --dev'),
}
"""Tools that install a project, each with a file that shows it is used, a setting, and its arguments."""
MAKE_VENV = 'python3 -m venv .venv && .venv/bin/pip install'


def environment_of(root: Path) -> TestSetup:
    """Return a setup with the project's virtual environment, if it has one."""
    tool_environments = [*sorted(root.glob('.tox/*')), *sorted(root.glob('.nox/*'))]
    for folder in (root / '.venv', root / 'venv', *tool_environments):
        python = folder / 'bin' / 'python'
        packages = next(folder.glob('lib/python*/site-packages'), None)
        if packages is None or not python.exists() or not is_own(root, folder):
            continue
        if folder not in tool_environments or (packages / 'pytest').is_dir():
            mounts = {str(folder): str(folder)} | _prefix(python)
            return TestSetup(python=str(python), path=(str(python.parent),), mounts=mounts)
    return TestSetup()


def source_roots(root: Path) -> list[str]:
    """Return the folders, beside the project's own, from which its packages are imported; relative to it."""
    roots = []
    for package in packages_of(root):
        inner = [
            posixpath.normpath(posixpath.join(package, name)) for name in _declared_roots(root / package)
        ]
        inner = [name for name in inner if name != package and _is_source_root(root, name)]
        roots += inner or [package]
    return [name for name in dict.fromkeys(roots) if name != '.'][:MAX_ROOTS]


def packages_of(root: Path) -> list[str]:
    """Return the folders of a project with packages of their own, relative to it; `.` comes first."""
    packages = []
    for around, folders, names in os.walk(root):
        inner = Path(around).relative_to(root)
        folders[:] = sorted(
            name
            for name in folders
            if len(inner.parts) < MAX_DEPTH and name not in NOT_PACKAGES and not name.startswith('.')
        )
        if inner == Path() or _is_package(Path(around), names):
            packages.append(inner.as_posix())
    return packages


def import_options(root: Path) -> list[str]:
    """Return pytest's options for tests that would otherwise be imported under one name.

    They are usual in projects of several packages, each with its `tests`.
    """
    places: dict[str, Path] = {}
    for path, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_DIRS]
        around, package = Path(path), ''
        while around != root and (around / '__init__.py').exists():
            around, package = around.parent, around.name
        for name in filter(TEST_FILE.fullmatch, names):
            if places.setdefault(package or name, around) != around:
                return ['--import-mode=importlib']
    return []


def install_of(root: Path, files: Sequence[str]) -> tuple[str, str]:
    """Return the command that installs a project in a new environment, or why none can."""
    project, by_pip = _toml(root / 'pyproject.toml'), _pip_install(root, files)
    for tool, (lock, setting, arguments) in MANAGERS.items():
        if lock in files or (tool in _table(project, 'tool') and is_there(tool)):
            chosen = _uv_options(project) if tool == 'uv' else []
            by_tool = ' '.join([f'{_provided(tool, setting)} {arguments}', *chosen])
            return f'{{ {by_tool}; }} || {{ rm -rf .venv && {by_pip}; }}' if by_pip else by_tool, ''
    conda = next((name for name in CONDA if name in files and not by_pip), '')
    return (
        by_pip,
        f'{conda} is for conda, which cannot install here: give an install command' if conda else '',
    )


def _uv_options(project: Mapping[str, Any]) -> list[str]:
    extras, groups = _table(project, 'project', 'optional-dependencies'), _table(project, 'dependency-groups')
    named = (('--extra', extras), ('--group', groups))
    return [f'{option} {name}' for option, table in named for name in TEST_GROUPS if name in table]


def _provided(tool: str, setting: str) -> str:
    """Return the shell words that start a tool: this machine's, or one installed for the moment."""
    if is_there(tool):
        return f'{setting} {tool}'
    return f't=$(mktemp -d) && python3 -m venv $t && $t/bin/pip install -q {tool} && {setting} $t/bin/{tool}'


def _pip_install(root: Path, files: Sequence[str]) -> str:
    """Return the command that installs with pip what a project's files ask for; '' if nothing."""
    project = _toml(root / 'pyproject.toml')
    wanted: list[tuple[str, ...]] = [('-r', name) for name in files if _is_requirements(name)]
    for groups in (_table(project, 'dependency-groups'), _table(project, 'tool', 'pdm', 'dev-dependencies')):
        wanted += [(text,) for name in TEST_GROUPS for text in _group(groups, name)]
    wanted += [*_poetry(_table(project, 'tool', 'poetry')), *_tox(root), *_nox(root)]
    for folder in packages_of(root):
        if _is_installable(root / folder):
            extras = _table(_toml(root / folder / 'pyproject.toml'), 'project', 'optional-dependencies')
            chosen = [name for name in TEST_GROUPS if name in extras]
            place = '.' if folder == '.' else f'./{folder}'
            wanted.append(('-e', f'{place}[{",".join(chosen)}]' if chosen else place))
    return f'{MAKE_VENV} {" ".join(map(shlex.join, dict.fromkeys(wanted)))}' if wanted else ''


def _poetry(settings: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the requirements of Poetry's groups, whose versions pip would not read."""
    groups = [_table(settings, 'group', name, 'dependencies') for name in TEST_GROUPS]
    for group in (_table(settings, 'dev-dependencies'), *groups):
        for name, given in group.items():
            version = given.get('version') if isinstance(given, dict) else given
            if isinstance(version, str):
                yield (name + _pip_version(version.strip()),)


def _pip_version(version: str) -> str:
    """Return a version of Poetry's, such as `^8.1` or `~1.2`, as pip reads it."""
    parts = re.fullmatch(r'([\^~]?)(\d+)((?:\.\d+)*)', version)
    if parts is None:
        return '' if version == '*' else version
    sign, major, rest = parts.groups()
    if sign == '~' and rest:
        return f'~={major}{rest}' if rest.count('.') > 1 else f'~={major}{rest}.0'
    return f'>={major}{rest},<{int(major) + 1}' if sign else f'=={major}{rest}'


def _group(groups: Mapping[str, Any], name: str, seen: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the requirements of a dependency group and of those that it includes."""
    items = groups.get(name, ())
    for item in items if isinstance(items, list) and name not in seen else ():
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from _group(groups, str(item.get('include-group')), (*seen, name))


def _tox(root: Path) -> Iterator[tuple[str, ...]]:
    """Yield what tox installs for all its environments, without what depends on one."""
    for line in _ini(root / 'tox.ini').get('testenv', {}).get('deps', '').splitlines():
        text = line.partition('#')[0].strip()
        if text and '{' not in text and not re.match(r'[\w,!-]+:\s', text):
            yield (text[:2], text[2:].strip()) if text.startswith('-') else (text,)


def _nox(root: Path) -> Iterator[tuple[str, ...]]:
    """Yield what the sessions that run pytest install, as far as it is written out in the file."""
    try:
        sessions = ast.parse(read_text(root / 'noxfile.py')).body
    except (SyntaxError, ValueError):
        return
    for session in sessions:
        if isinstance(session, ast.FunctionDef) and "'pytest'" in ast.unparse(session):
            for call in ast.walk(session):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                    words = [word.value for word in call.args if isinstance(word, ast.Constant)]
                    if call.func.attr == 'install' and '.' not in words:
                        yield tuple(map(str, words))


def _is_requirements(path: str) -> bool:
    return path.partition('/')[0] not in NOT_PACKAGES and REQUIREMENTS.fullmatch(path) is not None


def _is_package(root: Path, names: Sequence[str]) -> bool:
    project = _toml(root / 'pyproject.toml') if 'pyproject.toml' in names else {}
    named = not {'setup.py', 'requirements.txt'}.isdisjoint(names)
    return named or 'project' in project or 'poetry' in _table(project, 'tool')


def _is_installable(root: Path) -> bool:
    """Return whether pip has something to do: dependencies, or a build, which gives metadata and commands."""
    project = _toml(root / 'pyproject.toml')
    named = _table(project, 'project')
    return bool(
        'build-system' in project
        or named.get('dependencies')
        or named.get('optional-dependencies')
        or (root / 'setup.py').is_file()
    )


def _declared_roots(root: Path) -> Iterator[str]:
    """Yield the folders that hold a package's code, as its build settings say, and the usual one."""
    tool = _table(_toml(root / 'pyproject.toml'), 'tool')
    setup = _ini(root / 'setup.cfg')
    yield from _strings(_table(tool, 'setuptools', 'packages', 'find').get('where'))
    yield from map(str, _table(tool, 'setuptools', 'package-dir').values())
    yield from setup.get('options.packages.find', {}).get('where', '').split()
    yield from re.findall(r'=\s*(\S+)', setup.get('options', {}).get('package_dir', ''))
    yield from re.findall(
        r"""(?:package_dir\s*=\s*\{\s*['"]['"]\s*:|where\s*=|find_(?:namespace_)?packages\()\s*['"]([^'"]+)""",
        read_text(root / 'setup.py'),
    )
    for part in _list(_table(tool, 'poetry').get('packages')):
        yield from _strings(part.get('from') if isinstance(part, dict) else None)
    yield from _strings(_table(tool, 'pdm', 'build').get('package-dir'))
    yield from _strings(_table(tool, 'uv', 'build-backend').get('module-root'))
    yield from _strings(_table(tool, 'maturin').get('python-source'))
    for name in _strings(_table(tool, 'hatch', 'build', 'targets', 'wheel').get('packages')):
        yield posixpath.dirname(name)
    yield from _strings(_table(tool, 'hatch', 'build', 'targets', 'wheel').get('sources'))
    yield 'src'


def _is_source_root(root: Path, name: str) -> bool:
    folder = root / name
    try:
        return (
            not name.startswith(('..', '/'))
            and is_own(root, folder)
            and not (folder / '__init__.py').exists()
        )
    except OSError:  # such as a name that is too long
        return False


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except (ValueError, RecursionError):
        return {}


def _ini(path: Path) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(read_text(path))
    except configparser.Error:
        return {}
    return {name: dict(parser[name]) for name in parser.sections()}


def _table(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return an inner table; an empty one if anything else stands there."""
    for name in names:
        inner = data.get(name)
        data = inner if isinstance(inner, dict) else {}
    return data


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def _prefix(python: Path) -> dict[str, str]:
    """Return the mounts for a virtual environment's interpreter, if outside the system's folders."""
    prefix = PurePosixPath(os.path.realpath(python)).parent.parent
    home = os.path.realpath(Path.home())
    if str(prefix).startswith('/usr') or os.path.commonpath([home, prefix]) == str(prefix):
        return {}
    links = {str(prefix)}
    target = python
    for _ in range(10):  # A link may lead through others, such as `3.11` to `3.11.7`.
        if not target.is_symlink():
            break
        target = target.parent / os.readlink(target)
        links.add(str(target.parent.parent))
    return {
        place: place for place in links if os.path.commonpath([home, place]) != place and _is_python(place)
    }


def _is_python(prefix: str) -> bool:
    """Return whether Python is installed there; the path comes from the environment and cannot be trusted."""
    return next(Path(prefix).glob('lib/python*/os.py'), None) is not None
