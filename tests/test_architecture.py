"""The architecture as executable rules: size, docstrings, imports, nothing specific to one machine.

`lint-imports` checks the same directions on the import graph; these rules cover what it cannot express. Each
is a function that yields the violations in one file, and must reject its counterexample.
"""

import ast
import graphlib
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests import tree

ROOT = tree.ROOT
MODULES = sorted(str(path.relative_to(ROOT)) for path in tree.modules())
MAX_LINES = 500
MAX_HEADLINE = 100
MAX_ENTRIES = 15
VAGUE_LOCALS = frozenset({
    'asked', 'beside', 'found', 'gone', 'judged', 'kept', 'made', 'news', 'said', 'told', 'way',
    'ways', 'wish',
})  # fmt: skip
MAX_PAGE_LINES = 200
ARCHITECTURE = ROOT / 'assets' / 'ARCHITECTURE.md'
PLACE = re.compile(rf'\b(?:{"|".join(tree.PACKAGES)}|tests|assets)/[\w/]*(?:\.\w+)?')
"""A file or folder, anywhere in a page."""
NAMED = re.compile(rf'`((?:{"|".join(tree.PACKAGES)})(?:\.\w+)+|[A-Z]\w*(?:\.\w+)?|\w+\(\))`')
"""A module, a class with or without a member, a constant or a function, between backquotes."""
ODD_LIMIT = re.compile(r'((?:MOST|LEAST|LONGEST|SHORTEST|FEWEST|DEEPEST)(?:_[A-Z_]+)?)\b.* = ')

Rule = Callable[[str, str], Iterator[str]]


def within_max_length(path: str, source: str) -> Iterator[str]:
    """No file is too long to read in one go."""
    lines = len(source.splitlines())
    if lines > MAX_LINES:
        yield f'{path} has {lines} lines: split it ({MAX_LINES} at most)'


def has_headline(path: str, source: str) -> Iterator[str]:
    """The first line of a module's docstring describes it, and fits on a line."""
    headline = tree.parse(source).headline
    if not headline:
        yield f'{path} does not begin with a docstring'
    elif len(headline) > MAX_HEADLINE:
        yield f"{path}: the docstring's first line has {len(headline)} characters ({MAX_HEADLINE} at most)"


def transitions_in_chart_only(path: str, source: str) -> Iterator[str]:
    """Only one file knows the statechart library."""
    if path != 'engine/statechart/chart.py':
        for module, _ in imports(path, source):
            if within(module, 'transitions'):
                yield f'{path} imports {module}: only engine/statechart/chart.py may'


def core_below_plugins(path: str, source: str) -> Iterator[str]:
    """The engine discovers patterns, models and tools in their folders; only its entry point names them."""
    core = path.startswith('engine/') and path != 'engine/__init__.py'
    if core and not path.startswith(tuple(f'engine/{folder}/' for folder in PLUGIN_FOLDERS)):
        for module, name in imports(path, source):
            target = f'{module}.{name}' if module in ('engine', 'engine.tools', 'engine.models') else module
            if any(within(target, f'engine.{folder}'.replace('/', '.')) for folder in PLUGIN_FOLDERS):
                yield f'{path} imports {target}: the core must not know what plugs into it'


def engine_by_its_exports(path: str, source: str) -> Iterator[str]:
    """`ui` uses only names that `engine` and its packages export."""
    if not path.startswith('ui/'):
        return
    for module, name in imports(path, source):
        if not within(module, 'engine'):
            continue
        public = exported_names(module)
        if public is None or (name and name not in public):
            yield f'{path} imports {module}{name and f".{name}"}: import what a package of the engine exports'
    for node in tree.parse(source).nodes:
        match node:
            case ast.Attribute(value=ast.Name(id='engine'), attr=name) if name not in (
                exported_names('engine') or ()
            ):
                yield f'{path}:{node.lineno} reaches for engine.{name}: engine/__init__.py does not export it'


def storage_in_root_only(path: str, source: str) -> Iterator[str]:
    """Only the composition root knows how runs are stored."""
    if path.startswith('ui/') and path != 'ui/__main__.py':
        for module, _ in imports(path, source):
            if within(module, 'storage'):
                yield f'{path} imports {module}: only ui/__main__.py may'


def ui_modules_by_name(path: str, source: str) -> Iterator[str]:
    """The bare name `ui` is NiceGUI's: ours is imported as `from ui.web.components.theme import frame`."""
    for module, _ in imports(path, source):
        if module == 'ui':
            yield f'{path} imports ui: name the module, as in "from ui.web.components.theme import frame"'


def pages_by_serve_page(path: str, source: str) -> Iterator[str]:
    """Pages may take longer to draw than the 3 s after which NiceGUI reports an error."""
    if path.startswith('ui/') and path != 'ui/web/routing.py':
        for node in tree.parse(source).nodes:
            match node:
                case ast.Attribute(value=ast.Name(id='ui'), attr='page'):
                    yield f'{path}:{node.lineno} calls ui.page: use ui.web.routing.serve_page'


def machine_independent(path: str, source: str) -> Iterator[str]:
    """No file names a package index or a path that exists on one machine only."""
    for number, line in enumerate(source.splitlines(), 1):
        if match := LOCAL.search(line):
            yield f'{path}:{number} holds {match.group()!r}'


def modules_not_in_strings(path: str, source: str) -> Iterator[str]:
    """No string names a module of ours: a wheel has them in `hemicycle`, and rewrites imports only."""
    if path.startswith('tests/'):
        return
    for node in tree.parse(source).nodes:
        match node:
            case ast.Constant(value=str(name)) if name in module_names():
                yield f'{path}:{node.lineno} names {name} in a string: name it relative to __package__'


def limits_named_consistently(path: str, source: str) -> Iterator[str]:
    """The name of a limit begins with MAX_ or MIN_ and says what it limits."""
    for number, line in enumerate(source.splitlines(), 1):
        if match := ODD_LIMIT.match(line):
            yield f'{path}:{number} defines {match[1]}: begin a limit with MAX_ or MIN_'


def locals_named_by_content(path: str, source: str) -> Iterator[str]:
    """A local is named by what it is, not by what happened to it."""
    if VAGUE_LOCALS.isdisjoint(re.findall(r'\w+', source)):
        return
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in VAGUE_LOCALS:
                    yield f'{path}:{node.lineno} names a local {name}: name it by what it is'


AROUND_GUARD = re.compile(
    r'catalog\.(?:(?:registry|mcp|agents)\.(?:test|discover|sign_in|configure|forget|close)'
    r'|add|load|close|reconfigure)\('
)


def operations_behind_the_guard(path: str, source: str) -> Iterator[str]:
    """Pages and the API only read the catalog: what changes or contacts something is an operation."""
    if path.startswith(('ui/web/pages/', 'ui/api/')) and not path.startswith('ui/api/client/'):
        for match in AROUND_GUARD.finditer(source):
            yield f'{path} reaches around the guard: {match[0]}'


RULES: list[Rule] = [
    operations_behind_the_guard,
    within_max_length,
    has_headline,
    transitions_in_chart_only,
    core_below_plugins,
    engine_by_its_exports,
    storage_in_root_only,
    ui_modules_by_name,
    pages_by_serve_page,
    machine_independent,
    modules_not_in_strings,
    limits_named_consistently,
    locals_named_by_content,
]

COUNTEREXAMPLES: list[tuple[Rule, str, str]] = [
    (operations_behind_the_guard, 'ui/web/pages/a.py', 'await backend().catalog.registry.test(name)'),
    (operations_behind_the_guard, 'ui/api/routes/a.py', 'conductor.catalog.reconfigure()'),
    (within_max_length, 'ui/a.py', 'x = 1\n' * 501),
    (has_headline, 'ui/a.py', 'x = 1'),
    (has_headline, 'ui/a.py', f'"""{"long " * 30}."""'),
    (
        transitions_in_chart_only,
        'engine/runtime/run.py',
        'from transitions.extensions import HierarchicalMachine',
    ),
    (transitions_in_chart_only, 'ui/a.py', 'def f():\n    import transitions'),
    (core_below_plugins, 'engine/runtime/run.py', 'from engine.patterns.debate import Debate'),
    (core_below_plugins, 'engine/runtime/run.py', 'from engine import patterns'),
    (core_below_plugins, 'engine/runtime/run.py', 'from ..models import scripted'),
    (core_below_plugins, 'engine/agents/chart.py', 'from engine.tools.builtin import project'),
    (engine_by_its_exports, 'ui/web/pages/a.py', 'from engine.records.events import Event'),
    (engine_by_its_exports, 'ui/web/pages/a.py', 'from engine.records import Nothing'),
    (engine_by_its_exports, 'ui/web/pages/a.py', 'from engine import chart'),
    (engine_by_its_exports, 'ui/web/pages/a.py', 'import engine.statechart.chart'),
    (engine_by_its_exports, 'ui/web/pages/a.py', 'import engine\nengine.chart.fire()'),
    (storage_in_root_only, 'ui/a.py', 'from storage import database'),
    (storage_in_root_only, 'ui/a.py', 'import storage.sql.tables'),
    (ui_modules_by_name, 'ui/a.py', 'import ui'),
    (ui_modules_by_name, 'ui/a.py', 'from . import theme'),
    (pages_by_serve_page, 'ui/web/pages/a.py', "@ui.page('/a')\ndef a(): ..."),
    (modules_not_in_strings, 'engine/a.py', "import_module('engine.patterns')"),
    (modules_not_in_strings, 'ui/a.py', "import_module('storage.s3.files')"),
    (limits_named_consistently, 'engine/a.py', 'MOST_FILES = 3'),
    (locals_named_by_content, 'engine/a.py', 'def f():\n    found = 1'),
    (locals_named_by_content, 'tests/a.py', 'async def f(said): ...'),
    (machine_independent, 'README.md', 'cd ' + '/'.join(['', 'work', 'main'])),
    (machine_independent, 'README.md', 'see https://' + '.'.join(['pypi', 'org'])),
]


@pytest.mark.parametrize(
    'rule', [rule for rule in RULES if rule is not machine_independent], ids=lambda rule: rule.__name__
)
def test_every_module_follows(rule: Rule) -> None:
    assert MODULES, 'no module found: the rule would check nothing'
    assert [violation for path in MODULES for violation in rule(path, (ROOT / path).read_text('utf-8'))] == []


def test_the_table_of_long_tests_is_complete() -> None:
    readme = (ROOT / 'tests' / 'README.md').read_text('utf-8').partition('## The long tier')[2]
    cells = [line.split('|')[1] for line in readme.splitlines() if line.startswith('| `')]
    listed: set[str] = set()
    for names in (re.findall('`(.+?)`', cell) for cell in cells):
        folder = names[0].rpartition('/')[0]
        listed.update(name if '/' in name else f'{folder}/{name}' for name in names)
    marked = {
        str(path.relative_to(ROOT / 'tests'))
        for path in (ROOT / 'tests').rglob('test_*.py')
        if 'pytest.mark.long' in path.read_text('utf-8') and path.name != Path(__file__).name
    }
    folders = {name for name in listed if name.endswith('/')}
    assert {path for path in marked if not path.startswith(tuple(folders))} == listed - folders
    assert all(any(path.startswith(folder) for path in marked) for folder in folders)


def test_no_tracked_file_names_a_machine() -> None:
    files = dict(tracked_texts())
    assert 'pyproject.toml' in files
    assert [violation for path, text in files.items() for violation in machine_independent(path, text)] == []


@pytest.mark.parametrize(('rule', 'path', 'source'), COUNTEREXAMPLES)
def test_each_rule_refuses_its_counterexample(rule: Rule, path: str, source: str) -> None:
    assert list(rule(path, source))


def test_every_rule_has_a_counterexample() -> None:
    assert {rule for rule, _, _ in COUNTEREXAMPLES} == set(RULES)


def test_the_architecture_page_names_only_what_exists() -> None:
    page = ARCHITECTURE.read_text('utf-8')
    assert len(page.splitlines()) <= MAX_PAGE_LINES
    assert len(re.findall(NAMED, page)) > 50
    assert list(missing_names(page)) == []


@pytest.mark.parametrize(
    'text',
    [
        '`engine/nowhere.py`',
        'see ui/nothing',
        '`engine.nowhere`',
        '`Nobody`',
        '`Run.fly`',
        '`fly_away()`',
        '`NOTHING`',
    ],
)
def test_a_name_that_does_not_exist_is_noticed(text: str) -> None:
    assert list(missing_names(text))


def test_the_architecture_page_shows_the_layers_that_are_enforced() -> None:
    page = ARCHITECTURE.read_text('utf-8')
    blocks = re.findall(r'```text\n(.*?)```', page, re.DOTALL)
    shown = [[line.partition('  ')[0] for line in block.splitlines()] for block in blocks]
    contracts = tomllib.loads((ROOT / 'pyproject.toml').read_text())['tool']['importlinter']['contracts']
    layers = [contract['layers'] for contract in contracts if contract['type'] == 'layers']
    assert len(layers) == 4
    assert [layer for layer in layers if layer not in shown] == []


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in tree.modules()}
    assert [str(folder) for folder in sorted(folders) if not (folder / '__init__.py').exists()] == []


def test_each_page_is_a_folder_whose_page_module_serves_it() -> None:
    sources = {path: (ROOT / path).read_text('utf-8') for path in MODULES if path.startswith('ui/web/pages/')}
    serving = {path for path, source in sources.items() if '\ndef register(' in source}
    errors = 'ui/web/pages/shared/errors.py'  # pages without an address of their own
    assert serving - {errors} == {path for path in sources if path.endswith('/page.py')}
    folders = {'/'.join(Path(path).parts[:4]) for path in sources if len(Path(path).parts) > 4}
    assert {folder for folder in folders if f'{folder}/page.py' not in sources} == {'ui/web/pages/shared'}


def test_no_folder_is_crowded() -> None:
    counts = {str(folder.relative_to(ROOT)): entries(folder) for folder in tree.folders()}
    assert counts['engine'] > 5
    assert {folder: count for folder, count in counts.items() if count > MAX_ENTRIES} == {}


def test_no_module_imports_itself_through_others() -> None:
    graph = import_graph({path: (ROOT / path).read_text('utf-8') for path in MODULES})
    assert any(graph.values())
    assert find_cycle(graph) == []


def test_no_folder_imports_itself_through_others() -> None:
    graph = import_graph({path: (ROOT / path).read_text('utf-8') for path in MODULES})
    levels = folder_graphs(graph)
    assert len(levels) > 20
    assert {folder: cycle for folder, level in levels.items() if (cycle := find_cycle(level))} == {}


def test_cycles_of_folders_are_found() -> None:
    sources = {
        'ui/a/one.py': 'from ui.b.two import x',
        'ui/b/two.py': 'x = 1',
        'ui/b/three.py': 'from ui.a import four',
        'ui/a/four.py': '',
    }
    graph = import_graph(sources)
    assert find_cycle(graph) == []
    assert set(find_cycle(folder_graphs(graph)['ui'])) == {'a', 'b'}


def test_an_import_runs_the_packages_around_its_module() -> None:
    sources = {
        'ui/a/__init__.py': 'from ui.b.two import x',
        'ui/a/one.py': 'y = 1',
        'ui/b/__init__.py': '',
        'ui/b/two.py': 'def x():\n    from ui.a.one import y',
    }
    assert set(find_cycle(import_graph(sources))) == {'ui.a', 'ui.b.two'}


def test_cycles_are_found_in_annotations_and_functions_too() -> None:
    graph = import_graph(
        {
            'engine/a.py': 'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from engine import b',
            'engine/b.py': 'def f():\n    from engine.c.d import x',
            'engine/c/__init__.py': '',
            'engine/c/d.py': 'from . import e',
            'engine/c/e.py': 'from engine.a import A',
        }
    )
    assert set(find_cycle(graph)) == {'engine.a', 'engine.b', 'engine.c.d', 'engine.c.e'}


def missing_names(page: str) -> Iterator[str]:
    """What a page names and does not exist: files, folders, modules, classes, functions, constants."""
    sources = [(ROOT / path).read_text('utf-8') for path in MODULES]
    for path in sorted(set(re.findall(PLACE, page))):
        if not (ROOT / path).exists():
            yield path
    for name in sorted(set(re.findall(NAMED, page))):
        owner, _, member = name.removesuffix('()').rpartition('.')
        if owner.partition('.')[0] in tree.PACKAGES:
            is_known = name in module_names()
        elif owner:
            homes = [source for source in sources if re.search(rf'^class {owner}\b', source, re.M)]
            is_known = any(re.search(rf'\b{member}\b', source) for source in homes)
        else:
            defined = re.compile(rf'^(?:class |(?:async )?def )?{member}\b(?:[(:\[]| =)', re.M)
            is_known = any(map(defined.search, sources))
        if not is_known:
            yield name


def entries(folder: Path) -> int:
    """Modules and packages in a folder, without its own `__init__.py`."""
    files = [path for path in folder.glob('*.py') if path.name != '__init__.py']
    return len(files) + len({path.parent for path in folder.glob('*/*.py')})


@cache
def module_names() -> frozenset[str]:
    return frozenset(map(module_name, MODULES))


def module_name(path: str) -> str:
    return path.removesuffix('.py').replace('/', '.').removesuffix('.__init__')


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Which of our modules each module runs by its imports, wherever those stand.

    An import runs each package around the imported module, too, except those around the importing one: they
    are running already.
    """
    modules = {module_name(path) for path in sources}
    graph = {}
    for path, source in sources.items():
        module = module_name(path)
        named = ((f'{origin}.{name}', origin) for origin, name in imports(path, source))
        targets = {next((name for name in names if name in modules), '') for names in named}
        around = {package for target in targets for package in packages_of(target) if package in modules}
        graph[module] = (targets | around.difference(packages_of(module))) - {'', module}
    return graph


def packages_of(module: str) -> list[str]:
    """The packages around a module, outermost first."""
    parts = module.split('.')
    return ['.'.join(parts[:size]) for size in range(1, len(parts))]


def folder_graphs(graph: Mapping[str, set[str]]) -> dict[str, dict[str, set[str]]]:
    """For each folder: which of its entries import which others, by the modules in them."""
    levels: dict[str, dict[str, set[str]]] = {}
    for module, targets in graph.items():
        for target in targets:
            here, there = module.split('.'), target.split('.')
            same = next(
                (at for at, pair in enumerate(zip(here, there, strict=False)) if len(set(pair)) > 1), 0
            )
            if same:
                level = levels.setdefault('.'.join(here[:same]), {})
                level.setdefault(here[same], set()).add(there[same])
    return levels


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of one import cycle, or none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def imports(path: str, source: str) -> Iterator[tuple[str, str]]:
    """Every import in a module, wherever it is, as (module, name); no name for `import module`."""
    package = Path(path).parent.parts
    for node in tree.parse(source).nodes:
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
def exported_names(module: str) -> frozenset[str] | None:
    """The public names of a package of the engine, read without importing it; None if it has none."""
    if module in ('engine.errors', 'engine.host.clock', 'engine.host.home'):
        body = ast.parse((ROOT / f'{module.replace(".", "/")}.py').read_text('utf-8')).body
        defined = (node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef)))
        return frozenset(name for name in defined if name[0] != '_')
    init = ROOT / module.replace('.', '/') / '__init__.py'
    for node in ast.parse(init.read_text('utf-8')).body if init.exists() else ():
        match node:
            case ast.Assign(targets=[ast.Name(id='__all__')], value=value):
                return frozenset(ast.literal_eval(value))
    return None


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Every text file that git tracks or would track."""
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


PLUGIN_FOLDERS = ('patterns', 'models/scripted', 'tools/builtin')
LOCAL = re.compile(
    r'pypi\.org|pythonhosted\.org|registry\.npm\w*\.|npmjs\.(?:org|com)|deb\.debian\.org|archive\.ubuntu\.com'
    r'|crates\.io|proxy\.golang\.org|(?<![\w.~$}<>/-])/(?:work|root|tmp)\b'
)
