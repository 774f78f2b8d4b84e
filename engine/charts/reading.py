"""Reading: a chart file's text as plain data, with the line of each field; refuses what could harm."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from engine.errors import InvalidInput
from engine.models.yaml_lines import QuickLoader, check_structure

MAX_FILE = 256 * 1024
"""Maximum size of a chart file, in bytes."""
MAX_DEPTH = 40
"""Maximum depth of nested values in a chart file."""
MAX_PROBLEMS = 50
"""Maximum number of problems that are named."""
CONTROL = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
"""Characters that no text of a chart holds."""
IN_BRACES = ' (within braces, put a text with brackets, braces, commas or colons into quotes)'

Place = Sequence[str | int]


class ChartLoader(QuickLoader):  # type: ignore[misc]
    """The loader of chart files: takes plain words as YAML 1.2 does: `on`, `yes` and dates are texts."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


for _tag, _form, _first in (
    ('bool', 'true|false', 'tf'),
    ('int', r'-?(?:0|[1-9][0-9]{0,17})', '-0123456789'),
    ('float', r'-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?', '-0123456789'),
    ('null', 'null|~|', 'n~\0'),
):
    first = ['' if letter == '\0' else letter for letter in _first]
    ChartLoader.add_implicit_resolver(f'tag:yaml.org,2002:{_tag}', re.compile(f'(?:{_form})$'), first)


class Problems:
    """What is wrong with a chart file, by line."""

    def __init__(self, file: str) -> None:
        self.file, self._by_line = file, dict[int, list[str]]()

    def add(self, line: int, text: str) -> None:
        """Note a problem, once."""
        listed = self._by_line.setdefault(line, [])
        if text not in listed:
            listed.append(text)

    def stop_if_any(self) -> None:
        """Raise `InvalidInput` if anything is wrong."""
        if self._by_line:
            raise InvalidInput(
                {
                    f'{self.file}:{line}': '; '.join(self._by_line[line])
                    for line in sorted(self._by_line)[:MAX_PROBLEMS]
                }
            )


class Tree:
    """A chart file's text as nodes, which know their lines."""

    def __init__(self, root: yaml.Node) -> None:
        self.root = root
        self._fields: dict[int, dict[str, tuple[yaml.Node, yaml.Node]]] = {}
        """By node: its keys and values, by the text of the key."""

    def line(self, path: Place, inner: int = 1) -> int:
        """Return the line of a field's name, of an item, or of the nearest enclosing one.

        Args:
            path: names and indices; those that the file does not have are passed over.
            inner: a line of the field's own text.
        """
        line, node = self._find(path)
        if inner > 1 or (isinstance(node, yaml.ScalarNode) and '\n' in node.value):
            line = node.start_mark.line + 1
            is_block = isinstance(node, yaml.ScalarNode) and node.style in ('|', '>')
            return line + inner - (0 if is_block else 1)
        return line

    def _find(self, path: Place) -> tuple[int, yaml.Node]:
        node, line = self.root, self.root.start_mark.line + 1
        for step in path:
            if isinstance(node, yaml.MappingNode):
                if pair := self._fields_of(node).get(str(step)):
                    node, line = pair[1], pair[0].start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line + 1
        return line, node

    def _fields_of(self, node: yaml.MappingNode) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        if id(node) not in self._fields:
            texts = ((key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode))
            self._fields[id(node)] = {key.value: (key, value) for key, value in texts}
        return self._fields[id(node)]

    def lines(self) -> Iterator[tuple[str, int]]:
        """Yield each field, as `states.writing.prompt`, with the line of its name."""
        yield from _lines(self.root, ())


def _lines(node: yaml.Node, path: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    pairs: list[tuple[str, int, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        pairs = [(key.value, key.start_mark.line + 1, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        pairs = [(str(number), item.start_mark.line + 1, item) for number, item in enumerate(node.value)]
    for name, line, value in pairs:
        yield '.'.join((*path, name)), line
        yield from _lines(value, (*path, name))


def read_chart(text: str, problems: Problems) -> tuple[Tree, dict[str, Any]]:
    """Return a chart file as nodes and as plain data: names are texts, whatever YAML takes them for.

    Raises:
        InvalidInput: the text is no such file; names the line.
    """
    if len(text.encode('utf-8', 'replace')) > MAX_FILE:
        raise InvalidInput({f'{problems.file}:1': f'is larger than {MAX_FILE // 1024} KB'})
    try:
        for line, problem in check_structure(text, MAX_DEPTH):
            problems.add(line, problem)
            problems.stop_if_any()
        loader = ChartLoader(text)
        try:
            root = loader.get_single_node()
            data = _value(root, loader, problems) if root else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        hint = IN_BRACES if "expected ','" in str(error.problem) else ''
        problems.add(mark.line + 1 if mark else 1, f'is neither YAML nor JSON: {error.problem}{hint}')
    except (yaml.YAMLError, ValueError) as error:
        line = text.count('\n', 0, getattr(error, 'position', 0)) + 1
        problems.add(line, f'is neither YAML nor JSON: {getattr(error, "reason", error)}')
    problems.stop_if_any()
    if root is None or not isinstance(data, dict):
        raise InvalidInput({f'{problems.file}:1': 'must begin with `chart: NAME`'})
    return Tree(root), data


def _value(node: yaml.Node, loader: Any, problems: Problems) -> Any:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, loader, problems) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        fields: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                problems.add(line, 'the name of a field must be a text')
                continue
            if key.value in fields:
                problems.add(line, f'{key.value[:80]!r} is there twice')
            _check_text(key.value, line, problems)
            fields[key.value] = _value(value, loader, problems)
        return fields
    value = loader.construct_object(node)
    if isinstance(value, float) and not math.isfinite(value):
        problems.add(line, f'the number {node.value[:80]} is too large')
    if isinstance(value, str):
        _check_text(value, line, problems)
    return value


def _check_text(text: str, line: int, problems: Problems) -> None:
    if match := CONTROL.search(text):
        problems.add(line, f'has the control character {match[0]!r}, which is no text')
