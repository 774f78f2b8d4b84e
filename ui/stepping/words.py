"""Step mode in words: names, keys and hints of its controls, places, and why a step makes no sense."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine import Breakpoint, EdgeShape, How, Shape, StatePath, View, within
from ui.presenters.reading import edge_words, place, reason_words

Deed = Literal['pause', 'resume', 'in', 'over', 'out']


@dataclass(frozen=True, slots=True)
class Words:
    """A control of step mode, as people see it."""

    name: str
    icon: str
    key: str
    hint: str
    """What it does."""

    def tooltip(self, *, region: bool = False) -> str:
        """What it does and its key; the keys are for the whole run, and no region has one."""
        return self.hint if region else f'{self.hint} ({self.key.upper()})'


DEEDS: dict[Deed, Words] = {
    'pause': Words('Pause', 'pause', 'c', 'Start nothing new; what is under way ends'),
    'resume': Words('Continue', 'play_arrow', 'c', 'Go on until something stops it'),
    'in': Words(
        'Step in', 'arrow_downward', 'i', 'Start the next piece of work, also inside an agent, and no more'
    ),
    'over': Words('Step over', 'redo', 'o', 'Go on until the workflow itself moves, over all agents do'),
    'out': Words('Step out', 'arrow_upward', 'u', 'Go on until the agent, or the state around it, ends'),
}
STEPS: tuple[How, ...] = ('in', 'over', 'out')
KEYS = (
    ('C', 'Pause the run, or let it go on'),
    ('I', 'Paused: step in, to the next piece of work'),
    ('O', 'Paused: step over, to the next move of the workflow'),
    ('U', 'Paused: step out, until the agent or the state around it ends'),
)
"""As lists of keys show them."""
ELSEWHERE = 'Another process runs it: here it can be watched, and not steered.'


HIT = re.compile(r'\bbreakpoint (\d+) at step \d+: ')


def stopped_words(reason: str) -> str:
    """Why a run is held, as the engine says it, as a sentence."""
    if not reason:
        return ''
    said = reason_words(reason)
    return f'Stopped at {said}' if HIT.match(reason) else f'{said[0].upper()}{said[1:]}'


def hits_in(reason: str) -> frozenset[str]:
    """The numbers of the breakpoints that the engine names as why a run is held."""
    return frozenset(HIT.findall(reason))


def unsteppable(how: How, shape: Shape, view: View, at: str = '') -> str:
    """Why a step makes no sense now, or '': in the region `at`, or in the whole run.

    Args:
        how: the kind of step.
        shape: the run's chart.
        view: the run as it is now.
        at: the path of a region.
    """
    if ended(shape, view, at):
        return 'It has come to its end, and waits for the others' if at else 'It has ended'
    inside = [leaf for leaf in view.active if within(leaf, at)]
    if all(_waits(shape, leaf) for leaf in inside if not _final(shape, leaf)):
        return 'It waits for you: answer, and it goes on'
    if how == 'out' and not at and not around(inside):
        return f'There is nothing around {" and ".join(map(place, inside))} to step out of'
    return ''


def ended(shape: Shape, view: View, at: str = '') -> bool:
    """Whether nothing goes on any more in a region, or in the whole run."""
    return all(_final(shape, leaf) for leaf in view.active if within(leaf, at))


def around(leaves: Sequence[str]) -> str:
    """The innermost state that has all these leaves inside; '' is the whole run."""
    paths = [leaf.split('.')[:-1] for leaf in leaves]
    same = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        same.append(names[0])
    return '.'.join(same)


def regions(shape: Shape, active: Sequence[StatePath]) -> dict[str, str]:
    """The regions that are active side by side, each with where it stands."""
    found: dict[str, list[str]] = {}
    for state in shape.states:
        parent = shape.state(state.parent)
        leaves = [str(leaf) for leaf in active if within(leaf, state.path)]
        if leaves and parent is not None and parent.kind == 'parallel':
            found[state.path] = leaves
    return {
        path: ', '.join(
            place(leaf.removeprefix(f'{path}.')) if leaf != path else 'at work' for leaf in leaves
        )
        for path, leaves in found.items()
    }


def where(item: Breakpoint) -> str:
    """The place of a breakpoint."""
    if item.enter:
        return f'Entering {place(item.enter)}'
    if item.leave:
        return f'Leaving {place(item.leave)}'
    return f'Taking {edge_words(item.edge)}' if item.edge else 'Anywhere'


def label(item: Breakpoint) -> str:
    """A breakpoint in a sentence, as screen readers hear it."""
    said = where(item)
    return f'{said}, when {item.when}' if item.when else said


def facts(item: Breakpoint) -> list[str]:
    """What else there is to say of it."""
    times = f'hit {item.hits} times' if item.hits > 1 else 'hit once' if item.hits else 'not hit yet'
    return [times, holds(item), *(['once'] if item.once else [])]


def holds(item: Breakpoint) -> str:
    """What a breakpoint holds."""
    return 'holds its region only' if item.stop == 'region' else 'holds the whole run'


def edges(shape: Shape) -> dict[str, str]:
    """The names of a chart's edges, with what is said of each."""
    found: dict[str, list[EdgeShape]] = {}
    for edge in shape.edges:
        found.setdefault(f'{edge.source}>{edge.dest or edge.source}', []).append(edge)
    return {
        name: f'{edge_words(name)} ({", ".join(dict.fromkeys(edge.trigger for edge in several))})'
        for name, several in found.items()
    }


def _final(shape: Shape, leaf: str) -> bool:
    state = shape.state(leaf)
    return state is not None and state.kind == 'final'


def _waits(shape: Shape, leaf: str) -> bool:
    state = shape.state(leaf)
    return state is not None and bool(state.waits)
