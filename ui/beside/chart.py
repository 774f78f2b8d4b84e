"""Two runs on one diagram: what both went, what one alone, and where each stands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from nicegui import ui

from engine import Comparison, Shape, Transition
from ui.drawing.diagram import INSTALL, available, edge_id, svg
from ui.drawing.looking import look_buttons
from ui.drawing.overlays import Spot, Spots, standing, standing_edge, together
from ui.elements import Diagram
from ui.panes.folds import Folds
from ui.parts import Text
from ui.presenters.words import count
from ui.theme import notice

Counts = tuple[int, int]
LEGEND = (('way-both', 'Both'), ('way-a', 'Only A'), ('way-b', 'Only B'), ('way-none', 'Neither'))


class BothChart:
    """One diagram where the charts have their states in common; one for each run where they do not."""

    def __init__(self, found: Comparison, on_pick: Callable[[str], Awaitable[None]]) -> None:
        """Draw the panel; `on_pick` gets the state that was clicked."""
        self._found = found
        self._steps: tuple[Transition | None, Transition | None] = (None, None)
        a, b = found.a.shape, found.b.shape
        self._charts: list[_Chart] = []
        with ui.element('section').classes('panel diagram-panel').props('aria-label="Diagram"'):
            with ui.element('div').classes('legend'):
                for kind, text in LEGEND:
                    with ui.element('span').classes(f'legend-item {kind}'):
                        ui.element('i').props('aria-hidden="true"')
                        Text('span', text)
            if not available():
                with notice('wait', 'account_tree'):
                    ui.label(INSTALL)
            if a.pattern == b.pattern:
                self._charts.append(_Chart(union(a, b), (0, 1), '', on_pick))
            else:
                for side, shape in enumerate((a, b)):
                    self._charts.append(_Chart(shape, (side,), 'AB'[side], on_pick))

    async def draw(self) -> None:
        """Lay the charts out, and put on them what both went."""
        for chart in self._charts:
            await chart.draw()
        self.refresh(self._found)

    def refresh(self, found: Comparison) -> None:
        """Show what is known of both by now."""
        self._found = found
        for chart in self._charts:
            chart.cover(found)

    def show(self, a: Transition | None, b: Transition | None) -> None:
        """Show where both stand, and the edges that they have just taken."""
        self._steps = (a, b)
        for chart in self._charts:
            chart.stand(self._steps)


class _Chart:
    """One diagram, of the runs whose numbers are `sides`."""

    def __init__(
        self, shape: Shape, sides: tuple[int, ...], name: str, on_pick: Callable[[str], Awaitable[None]]
    ) -> None:
        self._shape, self._sides = shape, sides
        self._found: Comparison | None = None
        self._steps: tuple[Transition | None, Transition | None] = (None, None)
        self._folds = Folds(shape, self.draw)
        with ui.element('div').classes('panel-head'):
            Text('b', f'{name}: {shape.title}' if name else shape.title, 'where')
            ui.element('span').classes('grow')
            self._folds.draw()
            look_buttons(lambda: self._drawing)
        with ui.element('div').classes('panel-body flat'):
            self._drawing = Diagram(
                '', label=f'State diagram of {shape.title}', on_pick=on_pick, on_fold=self._folds.turn
            )

    async def draw(self) -> None:
        self._drawing.show(await svg(self._shape, folded=self._folds.folded))
        if self._found is not None:
            self.cover(self._found)
        self.stand(self._steps)

    def cover(self, found: Comparison) -> None:
        self._found = found
        self._drawing.overlay('ways', ways(found, self._folds.folded, self._sides))

    def stand(self, steps: tuple[Transition | None, Transition | None]) -> None:
        self._steps = steps
        folded = self._folds.folded
        self._drawing.overlay('now', here(steps, folded, self._sides))


def union(a: Shape, b: Shape) -> Shape:
    """A chart with the states and edges of both; where they say different things of a state, A is right."""
    known = {state.path for state in a.states}
    edges = dict.fromkeys([*a.edges, *b.edges])
    more = tuple(state for state in b.states if state.path not in known)
    return (
        a
        if not more and len(edges) == len(a.edges)
        else replace(a, states=(*a.states, *more), edges=tuple(edges))
    )


def ways(found: Comparison, folded: frozenset[str], sides: tuple[int, ...] = (0, 1)) -> Spots:
    """The layer that says which run went where, and how often.

    Numbers stand at the workflow's own states and edges: inside of agents they would hide what they count.
    """
    states = {
        path: _own(counts, sides) for path, counts in found.states.items() if standing(path, folded) == path
    }
    taken = {name: _own(counts, sides) for name, counts in found.edges.items()}
    edges = together(taken, folded, _sum, edges=True)
    agents = tuple(
        f'{state.path}.' for side in (found.a, found.b) for state in side.shape.states if state.role
    )
    return {
        'states': {
            path: _spot(counts, 'Entered', numbered=len(sides) > 1 and not path.startswith(agents))
            for path, counts in states.items()
            if any(counts)
        },
        'edges': {
            name: _spot(counts, 'Taken', numbered=len(sides) > 1 and not name.startswith(agents))
            for name, counts in edges.items()
            if any(counts)
        },
    }


def _spot(counts: Counts, what: str, *, numbered: bool) -> Spot:
    a, b = counts
    title = f'{what} {count(a, "time")} in A, {count(b, "time")} in B'
    if a and b:
        return {'classes': 'way-both', 'badge': f'A{a} B{b}' if a != b and numbered else '', 'title': title}
    side, times = ('A', a) if a else ('B', b)
    badge = f'{side}{times}' if times > 1 and numbered else side
    return {'classes': f'way-{side.lower()}', 'badge': badge, 'title': title}


def _own(counts: Counts, sides: tuple[int, ...]) -> Counts:
    """What the runs of a diagram did: another chart may have states of the same name."""
    a, b = (number if side in sides else 0 for side, number in enumerate(counts))
    return a, b


def _sum(several: list[Counts]) -> Counts:
    return sum(a for a, _ in several), sum(b for _, b in several)


def here(
    steps: tuple[Transition | None, Transition | None],
    folded: frozenset[str],
    sides: tuple[int, ...] = (0, 1),
) -> Spots:
    """The layer that says where each run stands after these steps."""
    states: dict[str, list[str]] = {}
    edges: dict[str, list[str]] = {}
    for side in sides:
        step, name = steps[side], 'AB'[side]
        if step is None:
            continue
        for leaf in step.active:
            at = states.setdefault(standing(leaf, folded), [])
            at.extend([name] if name not in at else [])
        for edge in step.edges:
            edges.setdefault(standing_edge(edge_id(edge), folded), []).append(name)
    edges.pop('', None)
    return {
        'states': {
            path: {
                'classes': ' '.join(f'now-{name.lower()}' for name in names),
                'badge': f'{"+".join(names)} here',
            }
            for path, names in states.items()
        },
        'edges': {name: {'classes': 'now-taken'} for name in edges},
    }
