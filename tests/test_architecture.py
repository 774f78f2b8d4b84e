"""The architecture, as rules that are run: size, docstrings, who imports whom, and nothing of one machine.

`lint-imports` checks the same directions on the import graph; what it cannot say is said here. Every rule is
a function from one file to its offences, and has to refuse its counterexample.
"""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import tree

ROOT = tree.ROOT
MODULES = sorted(str(path.relative_to(ROOT)) for path in tree.modules())
MAX_LINES = 300
MAX_HEADLINE = 100

Rule = Callable[[str, str], Iterator[str]]


def short(path: str, source: str) -> Iterator[str]:
    """No file is longer than a person reads in one go."""
    lines = len(source.splitlines())
    if lines > MAX_LINES:
        yield f'{path} has {lines} lines: split it ({MAX_LINES} at most)'


def introduced(path: str, source: str) -> Iterator[str]:
    """The first line of a module's docstring says what it holds, and fits on a line of the README."""
    headline = tree.parsed(source).docstring.partition('\n')[0]
    if not headline:
        yield f'{path} does not begin with a docstring'
    elif len(headline) > MAX_HEADLINE:
        yield f"{path}: the docstring's first line has {len(headline)} characters ({MAX_HEADLINE} at most)"


def transitions_in_chart_only(path: str, source: str) -> Iterator[str]:
    """One file knows the statechart library."""
    if path != 'engine/chart.py':
        for module, _ in imports(path, source):
            if within(module, 'transitions'):
                yield f'{path} imports {module}: only engine/chart.py may'


def core_below_plugins(path: str, source: str) -> Iterator[str]:
    """The engine's core finds patterns, agents, models and tools in their folders; it never names one."""
    if path.startswith('engine/') and not path.startswith(tuple(f'engine/{one}/' for one in PLUGIN_FOLDERS)):
        for module, name in imports(path, source):
            target = f'{module}.{name}' if module == 'engine' else module
            if any(within(target, f'engine.{folder}') for folder in PLUGIN_FOLDERS):
                yield f'{path} imports {target}: the core must not know what plugs into it'


def engine_by_its_door(path: str, source: str) -> Iterator[str]:
    """The window uses what `engine/__init__.py` exports, and nothing behind it."""
    if not path.startswith('ui/'):
        return
    for module, name in imports(path, source):
        if within(module, 'engine') and (module != 'engine' or (name and name not in exported())):
            yield f'{path} imports {module}{name and f".{name}"}: import what engine/__init__.py exports'
    for node in tree.parsed(source).nodes:
        match node:
            case ast.Attribute(value=ast.Name(id='engine'), attr=name) if name not in exported():
                yield f'{path}:{node.lineno} reaches for engine.{name}: engine/__init__.py does not export it'


def storage_in_root_only(path: str, source: str) -> Iterator[str]:
    """The composition root alone knows how runs are stored."""
    if path.startswith('ui/') and path != 'ui/__main__.py':
        for module, _ in imports(path, source):
            if within(module, 'storage'):
                yield f'{path} imports {module}: only ui/__main__.py may'


def our_ui_by_its_modules(path: str, source: str) -> Iterator[str]:
    """`ui` alone is NiceGUI's name: ours is imported as `from ui.theme import frame`."""
    for module, _ in imports(path, source):
        if module == 'ui':
            yield f'{path} imports ui: name the module, as in "from ui.theme import frame"'


def pages_by_one_door(path: str, source: str) -> Iterator[str]:
    """A page that is slow to draw is waited for: NiceGUI's patience is 3 s, and then there is an error."""
    if path.startswith('ui/') and path != 'ui/served.py':
        for node in tree.parsed(source).nodes:
            match node:
                case ast.Attribute(value=ast.Name(id='ui'), attr='page'):
                    yield f'{path}:{node.lineno} calls ui.page: use ui.served.served'


def of_no_machine(path: str, source: str) -> Iterator[str]:
    """No file names a package index or a path that exists on one machine only."""
    for number, line in enumerate(source.splitlines(), 1):
        if match := LOCAL.search(line):
            yield f'{path}:{number} holds {match.group()!r}'


RULES: list[Rule] = [
    short,
    introduced,
    transitions_in_chart_only,
    core_below_plugins,
    engine_by_its_door,
    storage_in_root_only,
    our_ui_by_its_modules,
    pages_by_one_door,
    of_no_machine,
]

COUNTEREXAMPLES: list[tuple[Rule, str, str]] = [
    (short, 'ui/a.py', 'x = 1\n' * 301),
    (introduced, 'ui/a.py', 'x = 1'),
    (introduced, 'ui/a.py', f'"""{"long " * 30}."""'),
    (transitions_in_chart_only, 'engine/run.py', 'from transitions.extensions import HierarchicalMachine'),
    (transitions_in_chart_only, 'ui/a.py', 'def f():\n    import transitions'),
    (core_below_plugins, 'engine/run.py', 'from engine.patterns.debate import Debate'),
    (core_below_plugins, 'engine/run.py', 'from engine import tools'),
    (core_below_plugins, 'engine/run.py', 'from .models import scripted'),
    (core_below_plugins, 'engine/dynamic/agent.py', 'from engine.tools import git'),
    (engine_by_its_door, 'ui/pages/a.py', 'from engine.records import Event'),
    (engine_by_its_door, 'ui/pages/a.py', 'from engine import chart'),
    (engine_by_its_door, 'ui/pages/a.py', 'import engine.chart'),
    (engine_by_its_door, 'ui/pages/a.py', 'import engine\nengine.chart.fire()'),
    (storage_in_root_only, 'ui/app.py', 'from storage import database'),
    (storage_in_root_only, 'ui/app.py', 'import storage.tables'),
    (our_ui_by_its_modules, 'ui/app.py', 'import ui'),
    (our_ui_by_its_modules, 'ui/app.py', 'from . import theme'),
    (pages_by_one_door, 'ui/pages/a.py', "@ui.page('/a')\ndef a(): ..."),
    (of_no_machine, 'README.md', 'cd ' + '/'.join(['', 'work', 'main'])),
    (of_no_machine, 'README.md', 'see https://' + '.'.join(['pypi', 'org'])),
]


@pytest.mark.parametrize(
    'rule', [rule for rule in RULES if rule is not of_no_machine], ids=lambda rule: rule.__name__
)
def test_every_module_keeps(rule: Rule) -> None:
    assert MODULES, 'no module found: this rule would hold of nothing'
    assert [offence for path in MODULES for offence in rule(path, (ROOT / path).read_text('utf-8'))] == []


def test_no_tracked_file_names_a_machine() -> None:
    files = dict(tracked_texts())
    assert 'pyproject.toml' in files
    assert [offence for path, text in files.items() for offence in of_no_machine(path, text)] == []


@pytest.mark.parametrize(('rule', 'path', 'source'), COUNTEREXAMPLES)
def test_each_rule_refuses_its_counterexample(rule: Rule, path: str, source: str) -> None:
    assert list(rule(path, source))


def test_every_rule_has_a_counterexample() -> None:
    assert {rule for rule, _, _ in COUNTEREXAMPLES} == set(RULES)


def test_readme_shows_the_tree() -> None:
    assert tree.README.exists(), 'README.md is missing'
    shown = tree.section(tree.README.read_text('utf-8'))
    assert shown == tree.tree(), 'the tree in README.md is old: run python -m tests.tree'


def imports(path: str, source: str) -> Iterator[tuple[str, str]]:
    """Every import in a module, wherever it stands, as (module, name); no name for `import module`."""
    package = Path(path).parent.parts
    for node in tree.parsed(source).nodes:
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, '') for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else ()
                origin = '.'.join([*base, *([module] if module else [])])
                yield from ((origin, alias.name) for alias in names)


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f'{package}.')


@cache
def exported() -> frozenset[str]:
    """The names in `__all__` of the engine's door, read without running it."""
    for node in ast.parse((ROOT / 'engine/__init__.py').read_text('utf-8')).body:
        match node:
            case ast.Assign(targets=[ast.Name(id='__all__')], value=value):
                return frozenset(ast.literal_eval(value))
    pytest.fail('engine/__init__.py has no __all__: it is the list of what is public')


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Every file that git tracks, or would track, and that is text."""
    command = [
        'git',
        '-c',
        'safe.directory=*',
        'ls-files',
        '-z',
        '--cached',
        '--others',
        '--exclude-standard',
    ]
    for path in subprocess.check_output(command, cwd=ROOT, text=True).split('\0'):
        content = (ROOT / path).read_bytes() if path and (ROOT / path).is_file() else b'\0'
        if b'\0' not in content:
            yield path, content.decode('utf-8')


PLUGIN_FOLDERS = ('patterns', 'agents', 'models', 'tools')
LOCAL = re.compile(
    r'pypi\.org|pythonhosted\.org|registry\.npm\w*\.|npmjs\.(?:org|com)|deb\.debian\.org|archive\.ubuntu\.com'
    r'|crates\.io|proxy\.golang\.org|(?<![\w.~$}<>/-])/(?:work|root|tmp)\b'
)
