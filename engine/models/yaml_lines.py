"""YAML files that people write: read quickly and safely, with the lines of their fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

QuickLoader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
"""The YAML loader: if available the one in C, which is ten times as fast."""


def check_structure(text: str, max_depth: int) -> Iterator[tuple[int, str]]:
    """Yield what no file of ours may hold, with its line: anchors, tags, or values nested too deeply.

    Nothing is built, so that a small text cannot become a large value. Raises `yaml.YAMLError`.
    """
    depth = 0
    for event in yaml.parse(text, Loader=QuickLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, 'anchor', None):
            yield line, 'anchors and aliases do not work here: repeat the value'
        if getattr(event, 'tag', None):
            yield line, 'tags such as `!name` do not work here'
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > max_depth:
            yield line, f'is nested more than {max_depth} deep'


def read_document(loader: Any) -> tuple[yaml.Node | None, Any]:
    """Return the root of the one document, None if it is empty, and its value. Raises `yaml.YAMLError`."""
    try:
        root = loader.get_single_node()
        return root, loader.construct_document(root) if root else None
    finally:
        loader.dispose()


def line_of(node: yaml.Node | None, at: tuple[int | str, ...]) -> int:
    """Return the line of a field in its file, or of the nearest enclosing node."""
    for step in at:
        inner: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            inner = node.value[step]
        if inner is None:
            break
        node = inner
    return node.start_mark.line + 1 if node else 0
