"""The trees of folders in README.md and of modules in assets/ARCHITECTURE.md: `python -m tests.tree`."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
README = ROOT / 'README.md'
ARCHITECTURE = ROOT / 'assets' / 'ARCHITECTURE.md'
PACKAGES = ('engine', 'storage', 'ui')
SECTION = re.compile(r'(?<=<!-- tree -->\n).*?(?=<!-- /tree -->)', re.DOTALL)


def modules() -> Iterator[Path]:
    """Every Python file of the packages: `__init__.py` first, then its folder's files, then subfolders."""
    for package in PACKAGES:
        paths = (ROOT / package).rglob('*.py')
        yield from sorted(paths, key=lambda path: (path.parent.parts, path.name != '__init__.py', path.name))


class Module(NamedTuple):
    """The facts about a module that rules use."""

    docstring: str
    nodes: tuple[ast.AST, ...]
    """Its imports, its attribute accesses on a name, and its strings with a dot and no space."""


@cache
def parse(source: str) -> Module:
    """Parse a module once; its whole syntax tree would be too large to cache."""
    syntax = ast.parse(source)
    nodes = tuple(filter(_is_used, ast.walk(syntax)))
    return Module(docstring=ast.get_docstring(syntax) or '', nodes=nodes)


def _is_used(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Attribute(value=ast.Name()):
            return True
        case ast.Constant(value=str(text)):
            return '.' in text and ' ' not in text
    return False


def headline(path: Path) -> str:
    """The first line of a module's docstring, or ''."""
    if not path.exists():
        return ''
    return parse(path.read_text('utf-8')).docstring.partition('\n')[0]


def folders() -> list[Path]:
    """Every folder of code, tests included."""
    folders = {path.parent for name in (*PACKAGES, 'tests') for path in (ROOT / name).rglob('*.py')}
    return sorted(folders)


def overview() -> str:
    """The expected section of the README: the packages and their folders."""
    top_level = [folder for folder in folders() if len(folder.relative_to(ROOT).parts) <= 2]
    rows = [(f'{folder.relative_to(ROOT)}/', headline(folder / '__init__.py')) for folder in top_level]
    return _block(rows)


def architecture() -> str:
    """The whole of assets/ARCHITECTURE.md: every module."""
    rows = [(str(path.relative_to(ROOT)), headline(path)) for path in modules()]
    return f'# Every module\n\nWritten by `python -m tests.tree`.\n\n{_block(rows)}'


def _block(rows: list[tuple[str, str]]) -> str:
    width = max(len(path) for path, _ in rows)
    lines = [f'{path:{width}}  {line}'.rstrip() for path, line in rows]
    return '\n'.join(['```text', *lines, '```', ''])


def section(readme: str) -> str:
    """The current section.

    Raises:
        ValueError: If the two markers are missing.
    """
    match = SECTION.search(readme)
    if not match:
        raise ValueError('README.md needs the lines "<!-- tree -->" and "<!-- /tree -->" around its tree')
    return match.group()


if __name__ == '__main__':
    text = README.read_text('utf-8')
    section(text)
    README.write_text(SECTION.sub(lambda _: overview(), text), 'utf-8')
    ARCHITECTURE.write_text(architecture(), 'utf-8')
