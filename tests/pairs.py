"""Two agents side by side, each with a tool, and one who ends it: a small pattern for tests of forks."""

from __future__ import annotations

from typing import Any

from engine import Pattern, agent
from engine.model import ModelRequest
from tests.support import calls


class Pair(Pattern):
    """Two agents side by side, each with a tool and three turns; and one who says what came of it."""

    initial = 'both'
    answer = 'said'
    states = [
        {
            'name': 'both',
            'parallel': [agent(name, then='note', tools=('calculator',)) for name in ('left', 'right')],
        },
        agent('closing', prompt='prompt_left', then='note'),
        {'name': 'over', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [['done', 'both', 'closing'], ['done', 'closing', 'over'], ['failed', '*', 'lost']]

    class Memory(Pattern.Memory):  # type: ignore[name-defined, misc]
        said: str = ''

    def prompt_left(self, memory: Any) -> str:
        return f'Go on from {memory.said!r}'

    prompt_right = prompt_left

    def note(self, memory: Any, event: Any) -> None:
        memory.said += f'{event.at.partition(".")[2] or event.at}: {event.data["text"]};'


def working(request: ModelRequest) -> Any:
    """Each uses its tool twice and then says what it heard last."""
    if request.hints.role in ('left', 'right') and request.hints.turn < 2:
        return calls(('calculator', {'expression': f'{request.hints.turn}+1'}))
    return f'{request.hints.role} heard {request.messages[-1].text[:40]}'
