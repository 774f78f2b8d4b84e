"""Every module and its headline: `python -m tests.tree` prints them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGES = ('engine', 'storage', 'ui')


def modules() -> Iterator[Path]:
    """Every Python file of the packages: `__init__.py` first, then its folder's files, then subfolders."""
    for package in PACKAGES:
        paths = (ROOT / package).rglob('*.py')
        yield from sorted(paths, key=lambda path: (path.parent.parts, path.name != '__init__.py', path.name))


class Module(NamedTuple):
    """The facts about a module that rules use."""

    headline: str
    """The first line of its docstring, or ''."""
    nodes: tuple[ast.AST, ...]
    """Its imports, its attribute accesses on a name, and its strings with a dot and no space."""


@cache
def parse(source: str) -> Module:
    """Parse a module once; its whole syntax tree would be too large to cache."""
    syntax = ast.parse(source)
    nodes = tuple(filter(_is_used, ast.walk(syntax)))
    headline = (ast.get_docstring(syntax) or '').partition('\n')[0]
    return Module(headline=headline, nodes=nodes)


def _is_used(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Attribute(value=ast.Name()):
            return True
        case ast.Constant(value=str(text)):
            return '.' in text and ' ' not in text
    return False


def folders() -> list[Path]:
    """Every folder of code, tests included."""
    folders = {path.parent for name in (*PACKAGES, 'tests') for path in (ROOT / name).rglob('*.py')}
    return sorted(folders)


if __name__ == '__main__':
    rows = [(str(path.relative_to(ROOT)), parse(path.read_text('utf-8')).headline) for path in modules()]
    width = max(len(path) for path, _ in rows)
    print('\n'.join(f'{path:{width}}  {line}' for path, line in rows))
