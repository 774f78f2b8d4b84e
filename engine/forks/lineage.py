"""Lineage: the family of a run as a tree."""

from __future__ import annotations

from collections.abc import Sequence

from engine.forks.variation import Kin, Kind
from engine.records import RunId, RunInfo


def tree(family: Sequence[RunInfo]) -> Kin:
    """The family as a tree, from the oldest run that is still kept.

    Args:
        family: what `Journal.family` gives: all of them, oldest first.
    """
    known = {info.id for info in family}
    children: dict[RunId | None, list[RunInfo]] = {}
    for info in family:
        parent = info.parent if info.parent in known else None
        children.setdefault(parent, []).append(info)
    # From the leaves up, so that a long row of forks of forks is no deep recursion.
    made: dict[RunId, Kin] = {}
    order, todo = [], children[None][:1]
    while todo:
        info = todo.pop()
        order.append(info)
        todo.extend(children.get(info.id, ()))
    for info in reversed(order):
        below = tuple(made[child.id] for child in children.get(info.id, ()))
        group = str(info.options.get('group', ''))
        made[info.id] = Kin(info=info, kind=kind_of(info), group=group, children=below)
    return made[order[0].id]


def kind_of(info: RunInfo) -> Kind:
    """How a run came about."""
    if info.parent is None:
        return 'root'
    said = info.options.get('kind')
    return said if said in ('rerun', 'retry') else 'fork'
