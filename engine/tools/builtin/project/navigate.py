"""navigate: finds definitions and usages of a symbol, and outlines files."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from engine.errors import ToolError
from engine.tools.protocol import ToolContext, tool

MAX_SEARCHED_FILES, MAX_FILE_BYTES, MAX_PLACES = 1_000, 1 << 20, 200
PLACE_KINDS = {'definition': ('class', 'function', 'variable'), 'usages': ('use', 'import')}


@tool(category='files', hint='Use it instead of search to look up a name in code.', seconds=60)
async def navigate(
    context: ToolContext,
    what: Annotated[
        Literal['definition', 'usages', 'outline'],
        Field(description='Where a symbol is defined, where it is used, or what a file defines'),
    ],
    symbol: Annotated[str, Field(max_length=200, description='A name, such as merge or Parser.read')] = '',
    path: Annotated[str, Field(max_length=1_000, description='Search only this file or folder')] = '',
) -> str:
    """Navigate code: find the definition or usages of a symbol, or outline a file."""
    if what == 'outline' and not path:
        raise ToolError('path: an outline needs a file')
    if what != 'outline' and not symbol:
        raise ToolError(f'symbol: needed to find its {what}')
    places = [
        place
        for file in await _files_to_search(context, path)
        for place in await _places(context, file, symbol)
    ]
    if what == 'outline':
        chosen = [place for place in places if place.kind in ('class', 'function')]
    else:
        last = symbol.rpartition('.')[2]
        chosen = [
            place for place in places if place.kind in PLACE_KINDS[what] and _matches(place, symbol, last)
        ]
    lines = [f'{place.path}:{place.line}: {place.kind} {place.name}' for place in chosen]
    more = [f'[there is more: only the first {MAX_PLACES} are shown]'] if len(lines) > MAX_PLACES else []
    return '\n'.join([*lines[:MAX_PLACES], *more]) or f'No {what} found for {symbol or path}.'


def _matches(place: Symbol, symbol: str, last: str) -> bool:
    whole = place.name == symbol or place.name.endswith(f'.{symbol}')
    return whole or (place.kind in ('use', 'import') and place.name == last)


async def _files_to_search(context: ToolContext, path: str) -> list[str]:
    if path.endswith('.py'):
        return [path]
    entries = await context.files.entries(path)
    files = [entry for entry in entries if entry.kind == 'a file' and entry.size <= MAX_FILE_BYTES]
    return [entry.path for entry in files][:MAX_SEARCHED_FILES]


async def _places(context: ToolContext, path: str, symbol: str) -> list[Symbol]:
    text = (await context.files.read(path)).decode('utf-8', 'replace')
    if path.endswith('.py'):
        try:
            return await asyncio.to_thread(find_symbols, path, text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # A file that does not parse yet is searched as plain words.
    if not symbol or '\0' in text or path.startswith('.git/'):
        return []
    word = re.compile(rf'\b{re.escape(symbol.rpartition(".")[2])}\b')
    return [
        Symbol(path=path, line=number, kind='use', name=symbol)
        for number, line in enumerate(text.split('\n'), 1)
        if word.search(line)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """An occurrence of a symbol on one line of a file."""

    path: str
    line: int
    kind: str
    """`class`, `function`, `variable`, `import` or `use`."""
    name: str
    """Qualified by the enclosing definitions, such as `Parser.read`."""


def find_symbols(path: str, source: str) -> list[Symbol]:
    """Find every definition and use in a file. Raises `SyntaxError`, `ValueError`, `RecursionError`."""
    return list(_walk(path, ast.parse(source), ''))


def _walk(path: str, node: ast.AST, around: str) -> Iterator[Symbol]:
    for child in ast.iter_child_nodes(node):
        inside = around
        match child:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                kind = 'class' if isinstance(child, ast.ClassDef) else 'function'
                inside = f'{around}.{name}' if around else name
                yield Symbol(path=path, line=child.lineno, kind=kind, name=inside)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    name = alias.asname or alias.name
                    yield Symbol(path=path, line=child.lineno, kind='import', name=name)
            case ast.Name(id=name, ctx=ctx):
                kind = 'use' if isinstance(ctx, ast.Load) else 'variable'
                yield Symbol(path=path, line=child.lineno, kind=kind, name=name)
            case ast.Attribute(attr=name):
                yield Symbol(path=path, line=child.lineno, kind='use', name=name)
        yield from _walk(path, child, inside)
