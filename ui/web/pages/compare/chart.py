"""Two runs on one diagram: shared paths, paths of one run only, and current positions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine import Transition
from engine.history import Comparison, merge_shapes
from engine.records import Shape
from ui.formatting.diagram.overlays import Decoration, Layer, aggregate, visible_ancestor, visible_edge
from ui.formatting.diagram.rendering import svg
from ui.formatting.steps import edge_name
from ui.formatting.values import count
from ui.web.components.diagram.collapse_menu import CollapseMenu
from ui.web.components.diagram.missing import notice_without_graphviz
from ui.web.components.diagram.zoom_controls import zoom_buttons
from ui.web.components.elements import Diagram
from ui.web.components.widgets import Box, Text

Counts = tuple[int, int]
LEGEND = (('path-both', 'Both'), ('path-a', 'Only A'), ('path-b', 'Only B'), ('path-none', 'Neither'))


class ComparisonChart:
    """One diagram if both runs have the same pattern, otherwise one per run."""

    def __init__(self, comparison: Comparison, on_pick: Callable[[str], Awaitable[None]]) -> None:
        """Draw the panel; `on_pick` gets the state that was clicked."""
        self._comparison = comparison
        self._steps: tuple[Transition | None, Transition | None] = (None, None)
        a, b = comparison.a.shape, comparison.b.shape
        self._charts: list[_Chart] = []
        with Box('panel diagram-panel', 'section', aria_label='Diagram'):
            with Box('legend'):
                for kind, text in LEGEND:
                    with Box(f'legend-item {kind}', 'span'):
                        Box(tag='i', aria_hidden='true')
                        Text('span', text)
            notice_without_graphviz()
            if a.pattern == b.pattern:
                self._charts.append(_Chart(merge_shapes([a, b]), (0, 1), '', on_pick))
            else:
                for side, shape in enumerate((a, b)):
                    self._charts.append(_Chart(shape, (side,), 'AB'[side], on_pick))

    async def draw(self) -> None:
        """Lay out the charts and draw both paths."""
        for chart in self._charts:
            await chart.draw()
        self.refresh(self._comparison)

    def refresh(self, comparison: Comparison) -> None:
        """Update both paths."""
        self._comparison = comparison
        for chart in self._charts:
            chart.set_comparison(comparison)

    def show(self, a: Transition | None, b: Transition | None) -> None:
        """Show both runs' active states and the edges they have just taken."""
        self._steps = (a, b)
        for chart in self._charts:
            chart.show_step(self._steps)


class _Chart:
    """One diagram, showing the runs in `sides` (0 is A, 1 is B)."""

    def __init__(
        self, shape: Shape, sides: tuple[int, ...], name: str, on_pick: Callable[[str], Awaitable[None]]
    ) -> None:
        self._shape, self._sides = shape, sides
        self._comparison: Comparison | None = None
        self._steps: tuple[Transition | None, Transition | None] = (None, None)
        self._folds = CollapseMenu(shape, self.draw)
        with Box('panel-head'):
            Text('b', f'{name}: {shape.title}' if name else shape.title, 'where')
            Box('grow', 'span')
            self._folds.draw()
            zoom_buttons(lambda: self._drawing)
        with Box('panel-body flat'):
            self._drawing = Diagram(
                '',
                title=shape.title,
                states=[state.path for state in shape.states],
                on_pick=on_pick,
                on_fold=self._folds.toggle,
            )

    async def draw(self) -> None:
        self._drawing.show(await svg(self._shape, folded=self._folds.folded))
        if self._comparison is not None:
            self.set_comparison(self._comparison)
        self.show_step(self._steps)

    def set_comparison(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._drawing.overlay('paths', path_layer(comparison, self._folds.folded, self._sides))

    def show_step(self, steps: tuple[Transition | None, Transition | None]) -> None:
        self._steps = steps
        folded = self._folds.folded
        self._drawing.overlay('now', position_layer(steps, folded, self._sides))


def path_layer(comparison: Comparison, folded: frozenset[str], sides: tuple[int, ...] = (0, 1)) -> Layer:
    """Return the layer that shows which run took which path, and how often.

    Only the workflow's own states and edges get numbers; there is no room inside agents.
    """
    states = {
        path: _own(counts, sides)
        for path, counts in comparison.states.items()
        if visible_ancestor(path, folded) == path
    }
    taken = {name: _own(counts, sides) for name, counts in comparison.edges.items()}
    edges = aggregate(taken, folded, _sum, edges=True)
    agents = tuple(
        f'{state.path}.' for side in (comparison.a, comparison.b) for state in side.shape.states if state.role
    )
    return {
        'states': {
            path: _decorate(counts, 'Entered', numbered=len(sides) > 1 and not path.startswith(agents))
            for path, counts in states.items()
            if any(counts)
        },
        'edges': {
            name: _decorate(counts, 'Taken', numbered=len(sides) > 1 and not name.startswith(agents))
            for name, counts in edges.items()
            if any(counts)
        },
    }


def _decorate(counts: Counts, what: str, *, numbered: bool) -> Decoration:
    a, b = counts
    title = f'{what} {count(a, "time")} in A, {count(b, "time")} in B'
    if a and b:
        return {'classes': 'path-both', 'badge': f'A{a} B{b}' if a != b and numbered else '', 'title': title}
    side, times = ('A', a) if a else ('B', b)
    badge = f'{side}{times}' if times > 1 and numbered else side
    return {'classes': f'path-{side.lower()}', 'badge': badge, 'title': title}


def _own(counts: Counts, sides: tuple[int, ...]) -> Counts:
    """Return the counts of this diagram's runs; the other run's chart may have states of the same name."""
    a, b = (number if side in sides else 0 for side, number in enumerate(counts))
    return a, b


def _sum(several: list[Counts]) -> Counts:
    return sum(a for a, _ in several), sum(b for _, b in several)


def position_layer(
    steps: tuple[Transition | None, Transition | None],
    folded: frozenset[str],
    sides: tuple[int, ...] = (0, 1),
) -> Layer:
    """Return the layer that shows where each run is after these steps."""
    states: dict[str, list[str]] = {}
    edges: dict[str, list[str]] = {}
    for side in sides:
        step, name = steps[side], 'AB'[side]
        if step is None:
            continue
        for leaf in step.active:
            at = states.setdefault(visible_ancestor(leaf, folded), [])
            at.extend([name] if name not in at else [])
        for edge in step.edges:
            edges.setdefault(visible_edge(edge_name(edge), folded), []).append(name)
    edges.pop('', None)
    return {
        'states': {
            path: {
                'classes': ' '.join(f'current-{name.lower()}' for name in names),
                'badge': f'{"+".join(names)} here',
            }
            for path, names in states.items()
        },
        'edges': {name: {'classes': 'current-taken'} for name in edges},
    }
