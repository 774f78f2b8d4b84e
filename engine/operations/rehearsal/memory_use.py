"""Memory use: fields of a pattern's memory that its code never reads or never writes."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from engine.charts import ChartPattern
from engine.operations.rehearsal.records import Finding, Level
from engine.statechart.memory import Memory as BaseMemory
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import panel_fields

SIMPLE = (str, int, float, bool)
"""Values that only an assignment changes."""


def unused_fields(pattern: Pattern) -> Iterator[Finding]:
    """Yield a warning for each field of memory that is never read, or never written.

    It goes by names: a name that is used anywhere in the pattern's modules counts, also for another record.
    """
    if isinstance(pattern, ChartPattern):
        reads, writes = pattern.plan.reads, pattern.plan.writes
    elif sources := list(filter(None, sources_of(pattern))):
        reads, writes = (frozenset[str]().union(*names) for names in zip(*map(_uses, sources), strict=True))
    else:
        return
    shown = {pattern.answer, pattern.caveat, *pattern.marks.values()}
    shown |= {item.field for item in panel_fields(pattern)}
    given = set(type(pattern.parameters).model_fields)
    inherited = BaseMemory.model_fields
    for name, field in pattern.Memory.model_fields.items():
        if name in inherited:
            continue
        is_read, is_written = name in reads or name in shown, name in writes or name in given
        changes_inside = field.annotation not in SIMPLE and name in reads
        if not is_read and not is_written:
            problem = 'is never read or written'
        elif not is_read:
            problem = 'is written and never read'
        elif not is_written and not changes_inside:
            problem = 'is read and never written'
        else:
            continue
        yield Finding(level=Level.WARNING, rule='unused-memory', text=f'`{name}` of Memory {problem}')


def sources_of(pattern: Pattern) -> list[str]:
    """Return the modules' code of a pattern, its bases, its memory and their packages; '' if unknown."""
    classes = [*type(pattern).__mro__, *pattern.Memory.__mro__]
    names = {cls.__module__ for cls in classes if issubclass(cls, (Pattern, BaseMemory))}
    core = {Pattern.__module__, BaseMemory.__module__}
    packages = tuple(f'{package}.' for name in names - core if (package := name.rpartition('.')[0]))
    chosen = {name for name in sys.modules if name in names - core or name.startswith(packages)}
    return [source_of(sys.modules[name]) for name in sorted(chosen)]


def source_of(module: ModuleType) -> str:
    """Return the code of a module; '' if it is unknown."""
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):  # Written in a console, or not in Python.
        return ''


@lru_cache(maxsize=256)
def tree_of(source: str) -> ast.Module:
    """Return code as a tree, which is not to be changed."""
    return ast.parse(source)


@lru_cache(maxsize=256)
def _uses(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of attributes that a module reads and of those that it writes."""
    reads, writes = set[str](), set[str]()
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Attribute):
            (reads if isinstance(node.ctx, ast.Load) else writes).add(node.attr)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            reads.add(node.target.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            writes.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            reads.add(node.value)
            writes.add(node.value)
    return frozenset(reads), frozenset(writes)
