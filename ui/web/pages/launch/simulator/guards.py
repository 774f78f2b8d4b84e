"""What guards say, and what they saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.operations.rehearsal.simulator import Moment, Simulator
from engine.records import Shape, is_active, parent_of
from engine.runtime import GuardExplanations
from ui.formatting.steps import brief_value, guard_text
from ui.web.components.widgets import Box, Text
from ui.web.pages.launch.simulator.wording import is_agent


class GuardList:
    """Draws the guards that a moment asked, without those inside an agent that has ended."""

    def __init__(self, simulator: Simulator) -> None:
        pattern = simulator.pattern
        self._shape: Shape = simulator.shape
        self._explanations = GuardExplanations(pattern, pattern.parameters.model_dump(mode='json'))

    def draw(self, moment: Moment, before: Mapping[str, Any]) -> None:
        """Draw each guard once, with the values it read; nothing if none was asked.

        Args:
            moment: the moment.
            before: the data before it.
        """
        drawn: set[tuple[str, bool]] = set()
        for guard in moment.guards:
            agent = parent_of(guard.source)
            inside = is_agent(self._shape, agent) and not is_active(agent, moment.active)
            if inside or (guard.name, guard.value) in drawn:
                continue
            drawn.add((guard.name, guard.value))
            ends = guard.source, guard.dest
            edges = (edge for edge in self._shape.edges if (edge.source, edge.dest) == ends)
            edge = next((edge for edge in edges if guard.name in edge.conditions + edge.unless), None)
            seen = moment.seen_by(guard, before)
            ground = self._explanations.of(guard.source, guard.dest, guard.name, seen, moment.event)
            with Box('walk-guard'):
                kind = 'ok' if guard.value is guard.wanted else 'no'
                Text('div', guard_text(guard.name, guard.value, edge), f'guard {kind}', title=ground.says)
                if moment.told and guard.says is not guard.value:
                    says = {None: 'fails', True: 'says yes', False: 'says no'}[guard.says]
                    Text('div', f'Assumed; on this memory it {says}.', 'guard-saw')
                elif ground.values:
                    values = [(name.replace('_', ' '), brief_value(value)) for name, value in ground.values]
                    saw = (f'{name} = {value}' for name, value in values)
                    Text('div', ' · '.join(saw), 'guard-saw mono')
