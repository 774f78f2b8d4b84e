"""The diagram of a rehearsal: what is never reached, worst-case calls, and ways played on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from engine import Pattern
from engine.operations.rehearsal import Finding, Rehearsal, RehearsedState, play
from engine.records import Shape
from ui.formatting.diagram.folding import fold_levels
from ui.formatting.diagram.overlays import Decoration
from ui.formatting.diagram.rendering import GRAPHVIZ_MISSING, has_graphviz
from ui.formatting.steps import edge_name, path_text
from ui.web.components.debounce import create_page_task
from ui.web.components.diagram.fitting import Room, fit
from ui.web.components.diagram.zoom_controls import zoom_buttons
from ui.web.components.elements import Diagram
from ui.web.components.widgets import Box, Text
from ui.web.pages.shared.rehearsal import rehearsal_layer

STEP_SECONDS = 0.9
"""How long each step of a way is shown."""
FIRST_ROOM: Room = (560, 520)


class Stage:
    """The diagram, on which findings are shown and ways are played."""

    def __init__(
        self, pattern: type[Pattern], parameters: Mapping[str, Any], shape: Shape, rehearsal: Rehearsal
    ) -> None:
        """Draw its panel; the diagram follows as soon as it is laid out."""
        self._pattern, self._parameters, self._shape, self._rehearsal = (
            pattern, parameters, shape, rehearsal
        )  # fmt: skip
        self._paths = [state.path for state in shape.states]
        self._diagram: Diagram | None = None
        self._room = FIRST_ROOM
        self._playing: asyncio.Task[None] | None = None
        with Box('panel rehearsal-stage', 'section', aria_label='Diagram') as self._panel:
            with Box('panel-head'):
                self._caption = Text('p', 'Badges: model calls at most.', 'small muted', role='status')
                Box('grow', 'span')
                zoom_buttons(lambda: self._diagram)
            self._body = Box('rehearsal-diagram')
        create_page_task(self._panel, self._draw(), 'draw the rehearsed chart')

    async def _draw(self) -> None:
        drawn, folded = await fit(self._shape, self._room, fold_levels(self._shape, [self._shape.initial]))
        if self._panel.is_deleted:
            return
        if self._diagram is not None:
            self._diagram.show(drawn)
        else:
            with self._body:
                if not drawn:
                    Text('p', 'The chart cannot be drawn.' if has_graphviz() else GRAPHVIZ_MISSING, 'empty')
                    return
                self._diagram = Diagram(drawn, title=self._shape.title, states=self._paths)
                self._diagram.on_resize(self._on_resize)
        self._diagram.overlay('rehearsal', rehearsal_layer(self._rehearsal, folded))

    async def _on_resize(self, width: int, height: int, _by_user: bool) -> None:
        if (width, height) != self._room:
            self._room = (width, height)
            await self._draw()

    def point_to(self, finding: Finding) -> None:
        """Show the state or the edge of a finding."""
        self._stop()
        picked: Decoration = {'classes': 'picked'}
        name = finding.edge.partition(': ')[2].replace(' → ', '>')
        if self._diagram is not None:
            self._diagram.highlight({'taken': [name]} if name else {'visited': [finding.state]})
            self._diagram.overlay('picked', {} if name else {'states': {finding.state: picked}})
        self._caption.show(finding.edge or path_text(finding.state))

    def play(self, state: RehearsedState) -> None:
        """Play the way to a state, event by event."""
        self._stop()
        if self._diagram is not None:
            self._diagram.overlay('picked', {})
            self._diagram.highlight({})
        self._playing = create_page_task(self._panel, self._play(state), 'play the way to a state')

    def _stop(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            self._playing = None

    async def _play(self, state: RehearsedState) -> None:
        steps = await asyncio.to_thread(play, self._pattern.sample(self._parameters), state.events)
        visited: set[str] = set()
        traversed: set[str] = set()
        for number, step in enumerate(steps, 1):
            if self._panel.is_deleted:
                return
            taken = [edge_name(edge) for edge in step.edges]
            visited |= set(step.entered)
            traversed |= set(taken)
            where = f' at {path_text(step.event.at)}' if step.event.at else ''
            self._caption.show(f'{number} of {len(steps)}: {step.event.name}{where}')
            if self._diagram is not None:
                self._diagram.highlight(
                    {
                        'active': list(step.active),
                        'inside': [path for path in self._paths if _is_around(path, step.active)],
                        'visited': sorted(visited),
                        'traversed': sorted(traversed),
                        'taken': taken,
                    }
                )
            if number < len(steps):
                await asyncio.sleep(STEP_SECONDS)


def _is_around(path: str, active: Iterable[str]) -> bool:
    return any(leaf.startswith(f'{path}.') for leaf in active)
