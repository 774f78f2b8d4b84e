"""Stages of a run: agents that are shown together, in chart order, and which of them are at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nicegui import ui

from engine import Status
from engine.records import Shape, View, is_within
from ui.formatting.steps import path_text
from ui.web.components.widgets import Box, Text, set_attributes
from ui.web.pages.run.agents.regions import parallel_agents, parallel_states
from ui.web.pages.shared.run.context import RunContext
from ui.web.replay.history import History, latest

GLYPHS = {
    'idle': '○',
    'working': '●',
    'paused': '‖',
    'asking': '◆',
    'failed': '✕',
    'stopped': '■',
    'done': '✓',
}
STATUS_WORDS = {
    'idle': 'not started',
    'working': 'working',
    'paused': 'paused',
    'asking': 'needs you',
    'failed': 'failed',
    'stopped': 'stopped',
    'done': 'done',
}
AT_WORK = ('thinking', 'using_tools', 'approving', 'asking', 'person')
"""The states of an agent that has not ended."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Agents shown together: all those of a parallel or an outermost state, or a single one."""

    key: str
    """The path of the state or of the agent."""
    title: str
    agents: tuple[str, ...]
    chores: tuple[str, ...] = ()
    """The states in it where the engine itself works, such as running tests."""

    def status(self, view: View, history: History) -> str:
        """Return the stage's status, a key of `GLYPHS`."""
        at_work = [leaf for leaf in view.active for path in self.agents if is_within(leaf, path)]
        begun = [path for path in self.agents if path in view.agents]
        if any(leaf.endswith(('.approving', '.asking', '.person')) for leaf in at_work):
            return 'asking'
        if working := [leaf for leaf in at_work if leaf.endswith(('.thinking', '.using_tools'))]:
            is_held = view.paused or all(any(is_within(leaf, at) for at in view.held) for leaf in working)
            return 'paused' if is_held else 'working'
        if not view.status.ended and set(self.chores).intersection(view.active):
            return 'paused' if view.paused else 'working'
        if not begun:
            return 'idle'
        if all(view.agents[path].get('problem') for path in begun):
            return 'failed'
        return 'stopped' if all(_is_stopped(path, view, history) for path in begun) else 'done'


def stages_of(context: RunContext) -> list[Stage]:
    """Return the stages of a run's chart; each agent is in exactly one."""
    shape = context.shape
    parallels = parallel_states(shape)
    agents = [str(state.path) for state in shape.states if state.role]
    groups: dict[str, list[str]] = {}
    for path in agents:
        around = [parallel for parallel in parallels if is_within(path, parallel)]
        top = path.partition('.')[0]
        alone = path if sum(is_within(other, top) for other in agents) == 1 else top
        groups.setdefault(max(around, key=len, default=alone), []).append(path)
    chores = [str(state.path) for state in shape.states if state.caption]
    return [
        Stage(
            key,
            context.name_of(key) if key in agents else path_text(key).capitalize(),
            tuple(inside),
            tuple(path for path in chores if is_within(path, key)),
        )
        for key, inside in groups.items()
    ]


class VisibleAgents:
    """Selects the agents to show at a step."""

    def __init__(self, shape: Shape, history: History) -> None:
        self._parallels = parallel_states(shape)
        self._ends = {state.path for state in shape.states if state.kind == 'final'}
        self._agents = [str(state.path) for state in shape.states if state.role]
        self._history = history
        self._seats = shape.seats

    def at_work(self, view: View) -> list[str]:
        """Return the agents at work; if there are none, those that worked last."""
        parallel = [] if view.status.ended else parallel_agents(self._parallels, view, self._ends)
        rest = [path for path in self._agents if path not in parallel and _is_working(path, view)]
        return parallel + rest or self._last(view)

    def active_agents(self, stage: Stage, view: View) -> list[str]:
        """Return the agents of a stage that have started or whose seats can be taken; else all of them."""
        offered = () if view.status.ended else self._seats
        visible = [
            path for path in stage.agents if path in view.agents or set(offered).intersection(path.split('.'))
        ]
        return visible or list(stage.agents)

    def _last(self, view: View) -> list[str]:
        ended = {path: self._end_of(path, view.seq) for path in self._agents if path in view.agents}
        if not ended:
            return []
        newest = max(ended, key=lambda path: ended[path])
        around = [parallel for parallel in self._parallels if is_within(newest, parallel)]
        if not around:
            return [newest]
        inner = max(around, key=len)
        return [path for path in ended if is_within(path, inner)]

    def _end_of(self, path: str, seq: int) -> int:
        stay = latest(self._history.stays, path, seq)
        return stay.seq if stay else 0


def _is_working(path: str, view: View) -> bool:
    return any(leaf in {f'{path}.{name}' for name in AT_WORK} for leaf in view.active)


def _is_stopped(path: str, view: View, history: History) -> bool:
    """Return whether it was interrupted: the run ended, or another agent finished first."""
    left = latest(history.stays, path, view.seq)
    inside = [latest(history.stays, f'{path}.{name}', view.seq) for name in AT_WORK]
    return left is not None and left.seq in {stay.seq for stay in inside if stay}


class StageRow:
    """One button per stage, with its status, and a caption for activity that no pane shows."""

    def __init__(self, stages: Sequence[Stage], history: History, pick: Callable[[str], None]) -> None:
        self._stages, self._history = stages, history
        self._chips: dict[str, tuple[ui.element, Text]] = {}
        with Box('stage-row'):
            with Box('stage-chips', role='group', aria_label='Stages'):
                for stage in stages:
                    self._draw_chip(stage.key, stage.title, pick)
            self._caption = Text('span', '', 'stage-caption muted small num')
        self._shown: tuple[object, ...] = ()

    def _draw_chip(self, key: str, title: str, pick: Callable[[str], None]) -> None:
        with Box('stage-chip', 'button', type='button') as chip:
            glyph = Text('span', '', 'stage-glyph', aria_hidden='true')
            Text('span', title)
        chip.on('click', lambda: pick(key))
        self._chips[key] = (chip, glyph)

    def show(self, view: View, key: str) -> None:
        """Show the status of each stage, and which one is shown."""
        statuses = {stage.key: stage.status(view, self._history) for stage in self._stages}
        content = (tuple(statuses.items()), key)
        if content == self._shown:
            return
        self._shown = content
        titles = {stage.key: stage.title for stage in self._stages}
        for stage_key, (chip, glyph) in self._chips.items():
            status = statuses[stage_key]
            glyph.show(GLYPHS[status])
            on = str(stage_key == key).lower()
            set_attributes(chip, aria_pressed=on, aria_label=f'{titles[stage_key]}: {STATUS_WORDS[status]}')
            chip.classes(add=status, remove=' '.join(set(GLYPHS) - {status}))

    def show_caption(self, text: str) -> None:
        """Show the current activity, or how the shown stage ended."""
        self._caption.show(text)
        set_attributes(self._caption, title=text)


def work_in_progress(shape: Shape, view: View) -> str:
    """Return the current work without an agent, which no pane shows; '' if there is none, or while paused."""
    if view.status is not Status.RUNNING or view.paused:
        return ''
    states = (shape.state(leaf) for leaf in view.active)
    return next((state.caption for state in states if state and state.caption), '')
