"""Parallel states as panes show them: which regions go on side by side, and where each has its place."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from engine import Shape, View, within


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A place in a grid, in CSS's lines: tracks of panes, with one for a splitter between two of them."""

    row: int
    column: int
    last: bool
    """Whether it reaches to the end of its row."""

    @property
    def style(self) -> str:
        """As a style of the pane."""
        return f'grid-row: {self.row}; grid-column: {self.column} / {"-1" if self.last else "span 1"}'


def parallels(shape: Shape) -> dict[str, dict[str, list[str]]]:
    """Each parallel state with at least two regions that hold agents: its regions, and the agents of each."""
    found: dict[str, dict[str, list[str]]] = {}
    agents = [str(state.path) for state in shape.states if state.role]
    for state in shape.states:
        if state.kind != 'parallel':
            continue
        regions = [str(other.path) for other in shape.states if other.parent == state.path]
        held = {region: [agent for agent in agents if within(agent, region)] for region in regions}
        peopled = {region: inside for region, inside in held.items() if inside}
        if len(peopled) > 1:
            found[state.path] = peopled
    return found


def side_by_side(
    known: Mapping[str, Mapping[str, Sequence[str]]], view: View, ends: Container[str] = ()
) -> list[str]:
    """The agents that share the screen, one per region of the innermost active parallel state.

    Args:
        known: the parallel states, as `parallels` gives them.
        view: the run at the step that is shown.
        ends: the final states. A region that has ended and asked none of its agents has no pane.
    """
    inside = [path for path in known if path in view.entered]
    if not inside:
        return []
    regions = known[max(inside, key=lambda path: path.count('.'))]
    return [
        _speaker(agents, view)
        for region, agents in regions.items()
        if any(agent in view.agents for agent in agents) or not _over(region, view, ends)
    ]


def _over(region: str, view: View, ends: Container[str]) -> bool:
    return any(path in ends for path in view.active if path.startswith(f'{region}.'))


def _speaker(agents: Sequence[str], view: View) -> str:
    """Of the agents of one region: who is at work, else who was last entered, else who comes first."""
    at_work = [agent for agent in agents if agent in view.entered]
    begun = [agent for agent in agents if agent in view.agents]
    return [*agents[:1], *begun, *at_work][-1]


def columns_for(panes: int, *, wide: bool) -> int:
    """How many panes stand in one row."""
    if panes <= 1:
        return 1
    return 3 if wide and panes in (3, 5, 6) else 2


def cells(panes: int, columns: int) -> list[Cell]:
    """Where each of the panes stands; the last one takes what is left of its row."""
    return [
        Cell(row=2 * (i // columns) + 1, column=2 * (i % columns) + 1, last=i == panes - 1)
        for i in range(panes)
    ]


def tracks(count: int, name: str, least: str) -> str:
    """A CSS track list: panes that share what there is as the splitters say, and the splitters."""
    return ' 9px '.join(f'minmax({least}, var(--{name}{i}, 1fr))' for i in range(1, count + 1))
