"""Parallel states as a grid of panes: which regions are active, and where each goes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from engine.records import Shape, View, is_within


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a CSS grid whose tracks alternate between panes and splitters."""

    row: int
    column: int
    last: bool
    """Whether it spans the rest of its row."""

    @property
    def style(self) -> str:
        """The CSS that puts a pane into the cell."""
        return f'grid-row: {self.row}; grid-column: {self.column} / {"-1" if self.last else "span 1"}'


def parallel_states(shape: Shape) -> dict[str, dict[str, list[str]]]:
    """Return parallel states with at least two regions that have agents, and the agents of each region."""
    tree: dict[str, dict[str, list[str]]] = {}
    agents = [str(state.path) for state in shape.states if state.role]
    for state in shape.states:
        if state.kind != 'parallel':
            continue
        regions = [str(other.path) for other in shape.states if other.parent == state.path]
        by_region = {region: [agent for agent in agents if is_within(agent, region)] for region in regions}
        with_agents = {region: inside for region, inside in by_region.items() if inside}
        if len(with_agents) > 1:
            tree[state.path] = with_agents
    return tree


def parallel_agents(
    tree: Mapping[str, Mapping[str, Sequence[str]]], view: View, ends: Container[str] = ()
) -> list[str]:
    """Return the agents that share the screen, one per region of the innermost active parallel state.

    Args:
        tree: the parallel states, as returned by `parallel_states`.
        view: the run at the step that is shown.
        ends: the final states. A region that ended without starting an agent gets no pane.
    """
    inside = [path for path in tree if path in view.entered]
    if not inside:
        return []
    regions = tree[max(inside, key=lambda path: path.count('.'))]
    return [
        _agent_to_show(agents, view)
        for region, agents in regions.items()
        if any(agent in view.agents for agent in agents) or not _has_ended(region, view, ends)
    ]


def _has_ended(region: str, view: View, ends: Container[str]) -> bool:
    return any(path in ends for path in view.active if path.startswith(f'{region}.'))


def _agent_to_show(agents: Sequence[str], view: View) -> str:
    """Return the agent of a region to show: the active one, else the last entered, else the first."""
    at_work = [agent for agent in agents if agent in view.entered]
    begun = [agent for agent in agents if agent in view.agents]
    return [*agents[:1], *begun, *at_work][-1]


def columns_for(panes: int, *, wide: bool) -> int:
    """Return the number of panes per row."""
    if panes <= 1:
        return 1
    return 3 if wide and panes in (3, 5, 6) else 2


def lay_out_panes(panes: int, columns: int) -> list[Cell]:
    """Return the cell of each pane; the last one spans the rest of its row."""
    return [
        Cell(row=2 * (i // columns) + 1, column=2 * (i % columns) + 1, last=i == panes - 1)
        for i in range(panes)
    ]


def tracks(count: int, name: str, least: str) -> str:
    """Return a CSS track list of panes, sized by their splitters, with the splitters in between."""
    return ' 9px '.join(f'minmax({least}, var(--{name}{i}, 1fr))' for i in range(1, count + 1))
