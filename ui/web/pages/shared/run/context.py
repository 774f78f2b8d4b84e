"""Context shared by the panes of a run page: the run, its history, and how to act on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from engine import Conductor
from engine.models import models_and_stubs
from engine.records import Origin, RunId, RunInfo, Shape, View, is_active
from ui.formatting.diagram.agents import agent_name
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
        names, stubs = models_and_stubs(self.info, path, state.role if state else '')
        if stubs:
            return 'stubbed'
        model = self.conductor.catalog.registry.get(next(iter(names), ''))
        return 'simulated' if model is not None and model.simulated else 'live'

    @property
    def content_url(self) -> str:
        """The base address for downloading stored contents of the run."""
        return f'/runs/{self.run}/kept'

    def name_of(self, path: str, played: str = '') -> str:
        """Return an agent's name (see `agent_name`)."""
        return agent_name(self.shape, path, played)


def accepts_event(shape: Shape, view: View, trigger: str) -> bool:
    """Return whether an active state, or one that contains it, has an edge for this trigger."""
    return any(edge.trigger == trigger and is_active(edge.source, view.active) for edge in shape.edges)
