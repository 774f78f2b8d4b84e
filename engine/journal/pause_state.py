"""PauseState: a run's held regions, breakpoints and pending steps, as read from its journal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.errors import InvalidInput
from engine.journal.budget_meter import resets_budget
from engine.records.breakpoint import Breakpoint, dump_breakpoints, load_breakpoints
from engine.records.payloads import StepMode
from engine.records.shape import StatePath, ancestry, is_active, is_within

MAX_REASONS = 300
"""Length of the existing reasons, in characters, from which on no more are appended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingStep:
    """A step over or out in progress in a region."""

    how: StepMode
    until: str = ''
    """For `out`: the state whose end completes it."""


class PauseState:
    """The debugger part of a `RunProjection`.

    A region's setting applies to everything inside it, unless a nested region has its own. A region is named
    by its path; '' is the whole run.

    Args:
        ends: the paths of final states.
    """

    def __init__(self, ends: Collection[str] = ()) -> None:
        self._ends = ends
        self.overrides: dict[str, bool] = {}
        """By region: True if held, False if it runs although the region around it is held."""
        self.why: dict[str, str] = {}
        """By held region: the reason as a sentence, unless a person held it."""
        self.pending_steps: dict[str, PendingStep] = {}
        """By region: the pending step over or out."""
        self.breakpoints: tuple[Breakpoint, ...] = ()
        self.visits: dict[str, int] = {}
        """Number of entries by state."""

    @property
    def held(self) -> dict[StatePath, str]:
        """The regions held individually, and why; '' if a person did it."""
        return {
            StatePath(path): self.why.get(path, '') for path, held in self.overrides.items() if path and held
        }

    @property
    def stopped(self) -> str:
        """Why something is held, unless a person held it."""
        return '; '.join(dict.fromkeys(filter(None, self.why.values())))

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems with the conditions of breakpoints."""
        return tuple(f'breakpoint {item.id}: {item.problem}' for item in self.breakpoints if item.problem)

    def holds(self, path: str) -> bool:
        """Return whether the state at `path` is held."""
        if not self.overrides:
            return False
        everything = self.overrides.get('', False)
        return next(
            (self.overrides[around] for around in ancestry(path) if around in self.overrides), everything
        )

    def hold_all(self, leaves: Sequence[StatePath]) -> bool:
        """Return whether everything that could proceed is held."""
        if not self.overrides:
            return False
        going = [leaf for leaf in leaves if leaf not in self._ends]
        return all(map(self.holds, going)) if going else self.holds('')

    def apply(
        self,
        name: str,
        at: str,
        data: Mapping[str, Any],
        active: Sequence[StatePath],
    ) -> None:
        """Apply a journaled control event; `active` are the leaves after it."""
        match name:
            case 'start':
                self.breakpoints = _parse_breakpoints(data.get('breakpoints'))
                self.overrides = {'': True} if data.get('paused') else {}
            case 'recover' if resets_budget(data):
                # A fork does not inherit breakpoints: they are set on each run.
                self.overrides = {'': True} if data.get('paused') else {}
                self.why, self.pending_steps, self.breakpoints = {}, {}, ()
            case 'recover' if data.get('paused') and not self.overrides.get(''):
                self._hold(at, {}, active)
            case 'breakpoints':
                self._set(data)
            case 'pause':
                self._hold(at, data, active)
            case 'resume':
                self._release(at, active)
            case 'step' if data.get('how') in ('over', 'out'):
                self._release(at, active)
                self.pending_steps[at] = PendingStep(how=data['how'], until=str(data.get('until', '')))
            case 'step':
                self._forget(at)
                if not self.holds(at):
                    self.overrides[at] = True
                self.overrides = {
                    path: held for path, held in self.overrides.items() if held or not _is_inside(path, at)
                }

    def apply_step(
        self, entered: Sequence[StatePath], left: Sequence[StatePath], active: Sequence[StatePath]
    ) -> None:
        """Apply a step of the chart; the settings of a region end with the region."""
        for path in entered:
            self.visits[path] = self.visits.get(path, 0) + 1
        if left and self.overrides:
            self.overrides = {
                path: held for path, held in self.overrides.items() if not path or is_active(path, active)
            }
            self.why = {path: why for path, why in self.why.items() if path in self.overrides}

    def _hold(self, at: str, data: Mapping[str, Any], active: Sequence[StatePath]) -> None:
        before = self.why.get(at, '')
        self._forget(at)
        self.pending_steps = {
            path: step for path, step in self.pending_steps.items() if is_active(path, active)
        }
        self.overrides = {
            path: held for path, held in self.overrides.items() if held or not is_within(path, at)
        }
        self.overrides[at] = True
        if data.get('reason'):
            # Work that ends while held may reach another breakpoint.
            earlier = f'{before}; ' if before and len(before) < MAX_REASONS else ''
            self.why[at] = f'{earlier}{data["reason"]}'
        hit = data.get('breakpoints') or ()
        self.breakpoints = tuple(
            replace(item, hits=item.hits + 1, enabled=item.enabled and not item.once)
            if item.id in hit
            else item
            for item in self.breakpoints
        )

    def _release(self, at: str, active: Sequence[StatePath]) -> None:
        """Release a region. Nested regions that are held stay held, unless nothing could proceed then."""
        was = self.holds(at)
        self._forget(at)
        self.overrides = {
            path: held for path, held in self.overrides.items() if held or not is_within(path, at)
        }
        self.overrides.pop(at, None)
        if self.holds(at):
            self.overrides[at] = False
        leaves = [leaf for leaf in active if is_within(leaf, at) and leaf not in self._ends]
        if not was or all(self.holds(leaf) for leaf in leaves):
            self.overrides = {path: held for path, held in self.overrides.items() if not _is_inside(path, at)}
        self.why = {path: why for path, why in self.why.items() if path in self.overrides}

    def _forget(self, at: str) -> None:
        """Forget pending steps and reasons of a region."""
        self.pending_steps = {
            path: step for path, step in self.pending_steps.items() if not is_within(path, at)
        }
        self.why.pop(at, None)

    def _set(self, data: Mapping[str, Any]) -> None:
        if 'breakpoints' in data:
            hits = {(item.id, item.label): item.hits for item in self.breakpoints}
            fresh = _parse_breakpoints(data['breakpoints'])
            self.breakpoints = tuple(replace(item, hits=hits.get((item.id, item.label), 0)) for item in fresh)
        problems = data.get('problems') or {}
        self.breakpoints = tuple(
            replace(item, problem=str(problems[item.id])) if item.id in problems else item
            for item in self.breakpoints
        )

    def dump(self) -> dict[str, Any]:
        """Return the complete state as JSON values."""
        return {
            'overrides': dict(self.overrides),
            'why': dict(self.why),
            'pending_steps': {path: asdict(step) for path, step in self.pending_steps.items()},
            'breakpoints': dump_breakpoints(self.breakpoints),
            'visits': dict(self.visits),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `dump`."""
        self.overrides, self.why = dict(state['overrides']), dict(state['why'])
        self.pending_steps = {path: PendingStep(**step) for path, step in state['pending_steps'].items()}
        self.breakpoints, self.visits = _parse_breakpoints(state['breakpoints']), dict(state['visits'])


def _is_inside(path: str, at: str) -> bool:
    """Return whether `path` is strictly inside `at`."""
    return path != at and is_within(path, at)


def _parse_breakpoints(recorded: Any) -> tuple[Breakpoint, ...]:
    """Read journaled breakpoints; none if they are malformed, as they may be in an imported run."""
    try:
        return load_breakpoints(recorded or ())
    except InvalidInput:
        return ()
