"""Lineage: the fork tree of a run."""

from __future__ import annotations

from collections.abc import Sequence

from engine.history.forks.overrides import Kind, LineageNode
from engine.records import RunId, RunInfo


def lineage_tree(family: Sequence[RunInfo]) -> LineageNode:
    """Build the fork tree, from the oldest run that still exists.

    Args:
        family: all its runs, oldest first, as returned by `Journal.family`.
    """
    known = {info.id for info in family}
    children: dict[RunId | None, list[RunInfo]] = {}
    for info in family:
        parent = info.parent if info.parent in known else None
        children.setdefault(parent, []).append(info)
    # Built from the leaves up, to avoid deep recursion for a long chain of forks.
    made: dict[RunId, LineageNode] = {}
    order, todo = [], children[None][:1]
    while todo:
        info = todo.pop()
        order.append(info)
        todo.extend(children.get(info.id, ()))
    for info in reversed(order):
        below = tuple(made[child.id] for child in children.get(info.id, ()))
        group = str(info.options.get('group', ''))
        made[info.id] = LineageNode(info=info, kind=origin_of(info), group=group, children=below)
    return made[order[0].id]


def origin_of(info: RunInfo) -> Kind:
    """Return how a run originated."""
    if info.parent is None:
        return 'root'
    kind = info.options.get('kind')
    return kind if kind in ('rerun', 'retry') else 'fork'
