"""Names of agents: their role, and what tells apart those of one role."""

from __future__ import annotations

from engine.records import Shape
from ui.formatting.steps import path_text, role_title


def agent_name(shape: Shape, path: str, played: str = '') -> str:
    """Return an agent's name: its role, and its place if other agents have the same role.

    Args:
        shape: the run's chart.
        path: the agent's state.
        played: the role it plays now, if one is chosen at each visit.
    """
    state = shape.state(path)
    if state is None:
        return path_text(path)
    alike = [other for other in shape.states if other.role == state.role]
    if state.roles and len(alike) > 1:
        region = state.parent.rpartition('.')[2].replace('_', ' ')
        return f'{role_title(played)} · {region}' if played else role_title(region)
    if state.roles and played:
        return role_title(played)
    if len(alike) == 1:
        return role_title(state.role)
    # The shortest that is unique: its own name, its phase, or its full path.
    for short in (_own_name, _phase_name):
        if len({short(other.path) for other in alike}) == len(alike):
            return f'{role_title(state.role)} · {short(path)}'
    return f'{role_title(state.role)} · {path_text(path)}'


def _own_name(path: str) -> str:
    return path.rpartition('.')[2].replace('_', ' ')


def _phase_name(path: str) -> str:
    return path.partition('.')[0].replace('_', ' ')
