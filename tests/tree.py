"""The README's tree of modules and what each holds; `python -m tests.tree` writes it anew."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
README = ROOT / 'README.md'
PACKAGES = ('engine', 'storage', 'ui')
SECTION = re.compile(r'(?<=<!-- tree -->\n).*?(?=<!-- /tree -->)', re.DOTALL)


def modules() -> Iterator[Path]:
    """Every Python file of the three packages: a package's own first, its files, then its folders."""
    for package in PACKAGES:
        found = (ROOT / package).rglob('*.py')
        yield from sorted(found, key=lambda path: (path.parent.parts, path.name != '__init__.py', path.name))


class Module(NamedTuple):
    """What rules ask about a module."""

    docstring: str
    nodes: tuple[ast.AST, ...]
    """Its imports, and attributes of a name."""


@cache
def parsed(source: str) -> Module:
    """A module, read once; the whole of its syntax would be too much to keep."""
    syntax = ast.parse(source)
    nodes = tuple(
        node
        for node in ast.walk(syntax)
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    )
    return Module(docstring=ast.get_docstring(syntax) or '', nodes=nodes)


def headline(path: Path) -> str:
    """The first line of a module's docstring, or nothing where it has none."""
    return parsed(path.read_text('utf-8')).docstring.partition('\n')[0]


def tree() -> str:
    """The section as it should be."""
    rows = [(str(path.relative_to(ROOT)), headline(path)) for path in modules()]
    width = max(len(path) for path, _ in rows)
    lines = [f'{path:{width}}  {line}' for path, line in rows]
    return '\n'.join(['```text', *lines, '```', ''])


def section(readme: str) -> str:
    """The section as it stands.

    Raises:
        ValueError: If the two marks are not there.
    """
    match = SECTION.search(readme)
    if not match:
        raise ValueError('README.md needs the lines "<!-- tree -->" and "<!-- /tree -->" around its tree')
    return match.group()


if __name__ == '__main__':
    text = README.read_text('utf-8')
    section(text)
    README.write_text(SECTION.sub(lambda _: tree(), text), 'utf-8')
