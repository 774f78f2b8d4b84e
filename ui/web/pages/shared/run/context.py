"""Context shared by the panes of a run page: the run, its history, and how to act on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from engine import Conductor
from engine.models import candidate_models
from engine.records import Origin, RunId, RunInfo, Shape, View, is_active
from ui.formatting.steps import path_text, role_title
from ui.web.pages.shared.run.debug_controller import DebugController
from ui.web.pages.shared.run.transition_reasons import GuardReasons
from ui.web.replay.history import History

Send = Callable[[str, str, dict[str, Any]], Awaitable[None]]
"""Sends an event to the run: name, state, data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """One run, as seen by its panes."""

    conductor: Conductor
    run: RunId
    shape: Shape
    history: History
    send: Send
    debug_controller: DebugController
    reasons: GuardReasons
    info: RunInfo

    @property
    def created(self) -> float:
        """When the run itself began; steps inherited by a fork are older."""
        return self.info.created

    def expected_origin(self, path: str) -> Origin:
        """Return where replies of the agent at `path` will come from, judging by its models."""
        if self.info.options.get('replay'):
            return 'replayed'
        state = self.shape.state(path)
        first = next(iter(candidate_models(self.info.models, state.role if state else '')), '')
        model = self.conductor.catalog.registry.get(first)
        return 'simulated' if model is not None and model.simulated else 'live'

    @property
    def content_url(self) -> str:
        """The base address for downloading stored contents of the run."""
        return f'/runs/{self.run}/kept'

    def name_of(self, path: str, played: str = '') -> str:
        """Return an agent's name (see `agent_name`)."""
        return agent_name(self.shape, path, played)


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


def accepts_event(shape: Shape, view: View, trigger: str) -> bool:
    """Return whether an active state, or one that contains it, has an edge for this trigger."""
    return any(edge.trigger == trigger and is_active(edge.source, view.active) for edge in shape.edges)


def _own_name(path: str) -> str:
    return path.rpartition('.')[2].replace('_', ' ')


def _phase_name(path: str) -> str:
    return path.partition('.')[0].replace('_', ' ')
