"""Step mode in words: names, keys and hints of its controls, places, and why a step is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine import Breakpoint
from engine.journal import StepMode
from engine.records import EdgeShape, Shape, StatePath, View, is_within
from ui.formatting.steps import edge_name, edge_text, path_text, reason_text

DebugAction = Literal['pause', 'resume', 'in', 'over', 'out']


@dataclass(frozen=True, slots=True)
class ControlText:
    """A control of step mode, as people see it."""

    name: str
    icon: str
    key: str
    hint: str
    """What it does."""

    def tooltip(self, *, region: bool = False) -> str:
        """Return what it does, and its key; keys act on the whole run, so a region's controls have none."""
        return self.hint if region else f'{self.hint} ({self.key.upper()})'


CONTROLS: dict[DebugAction, ControlText] = {
    'pause': ControlText('Pause', 'pause', 'c', 'Start nothing new; work in progress finishes'),
    'resume': ControlText('Continue', 'play_arrow', 'c', 'Run until something stops it'),
    'in': ControlText('Step in', 'arrow_downward', 'i', 'Run one piece of work, even inside an agent'),
    'over': ControlText(
        'Step over', 'redo', 'o', 'Run to the next transition of the workflow, skipping agents'
    ),
    'out': ControlText('Step out', 'arrow_upward', 'u', 'Run until the agent or its parent state ends'),
}
STEPS: tuple[StepMode, ...] = ('in', 'over', 'out')
KEYS = (
    ('C', 'Pause or continue'),
    ('I', 'Paused: step in'),
    ('O', 'Paused: step over'),
    ('U', 'Paused: step out'),
)
"""For lists of keyboard shortcuts."""
ELSEWHERE_NOTE = 'Another process is running it: you can watch it here, but not control it.'


HIT = re.compile(r'\bbreakpoint (\d+) at step \d+: ')


def pause_sentence(reason: str) -> str:
    """Return the engine's reason why a run is paused, as a sentence."""
    if not reason:
        return ''
    text = reason_text(reason)
    return f'Stopped at {text}' if HIT.match(reason) else f'{text[0].upper()}{text[1:]}'


def hit_numbers(reason: str) -> frozenset[str]:
    """Return the numbers of the breakpoints that the engine gives as the reason for a pause."""
    return frozenset(HIT.findall(reason))


def step_refusal(how: StepMode, shape: Shape, view: View, at: str = '') -> str:
    """Return why a step is not possible now in the region `at`, or in the whole run; else ''.

    Args:
        how: the kind of step.
        shape: the run's chart.
        view: the run as it is now.
        at: the path of a region.
    """
    if has_region_ended(shape, view, at):
        return 'Ended; waiting for the others' if at else 'Ended'
    inside = [leaf for leaf in view.active if is_within(leaf, at)]
    if all(is_waiting_for_person(shape, leaf) for leaf in inside if not is_final(shape, leaf)):
        return 'Waiting for your answer'
    if how == 'out' and not at and not common_ancestor(inside):
        return f'{" and ".join(map(path_text, inside))} has no parent to step out of'
    return ''


def has_region_ended(shape: Shape, view: View, at: str = '') -> bool:
    """Return whether a region, or the whole run, has ended."""
    return all(is_final(shape, leaf) for leaf in view.active if is_within(leaf, at))


def common_ancestor(leaves: Sequence[str]) -> str:
    """Return the innermost state that contains all these leaves; '' is the whole run."""
    paths = [leaf.split('.')[:-1] for leaf in leaves]
    same = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        same.append(names[0])
    return '.'.join(same)


def active_regions(shape: Shape, active: Sequence[StatePath]) -> dict[str, str]:
    """Return the regions that are active side by side, each with its current state."""
    leaves_by_region: dict[str, list[str]] = {}
    for state in shape.states:
        parent = shape.state(state.parent)
        leaves = [str(leaf) for leaf in active if is_within(leaf, state.path)]
        if leaves and parent is not None and parent.kind == 'parallel':
            leaves_by_region[state.path] = leaves
    return {
        path: ', '.join(
            path_text(leaf.removeprefix(f'{path}.')) if leaf != path else 'at work' for leaf in leaves
        )
        for path, leaves in leaves_by_region.items()
    }


def location_text(item: Breakpoint) -> str:
    """Return where a breakpoint stops, such as `Entering writing`."""
    if item.enter:
        return f'Entering {path_text(item.enter)}'
    if item.leave:
        return f'Leaving {path_text(item.leave)}'
    return f'Taking {edge_text(item.edge)}' if item.edge else 'Anywhere'


def breakpoint_label(item: Breakpoint) -> str:
    """Return a breakpoint in a sentence, as screen readers announce it."""
    label = location_text(item)
    return f'{label}, when {item.when}' if item.when else label


def breakpoint_facts(item: Breakpoint) -> list[str]:
    """Return further facts about a breakpoint."""
    times = f'hit {item.hits} times' if item.hits > 1 else 'hit once' if item.hits else 'not hit yet'
    return [times, pause_scope(item), *(['once'] if item.once else [])]


def pause_scope(item: Breakpoint) -> str:
    """Return what a breakpoint pauses, in words."""
    return 'pauses only its region' if item.stop == 'region' else 'pauses the whole run'


def edge_labels(shape: Shape) -> dict[str, str]:
    """Return the names of a chart's edges, with their labels."""
    edges: dict[str, list[EdgeShape]] = {}
    for edge in shape.edges:
        edges.setdefault(edge_name(edge), []).append(edge)
    return {
        name: f'{edge_text(name)} ({", ".join(dict.fromkeys(edge.trigger for edge in several))})'
        for name, several in edges.items()
    }


def is_final(shape: Shape, leaf: str) -> bool:
    """Return whether a state is a final one."""
    state = shape.state(leaf)
    return state is not None and state.kind == 'final'


def is_waiting_for_person(shape: Shape, leaf: str) -> bool:
    """Return whether a run waits for a person in this state."""
    state = shape.state(leaf)
    return state is not None and bool(state.waits)
