"""The line of a parallel state that was left: what its agents did together; a click shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from engine import Usage, View
from ui.panes.around import Around
from ui.parts import Text
from ui.presenters.reading import place, span
from ui.presenters.spending import in_short
from ui.presenters.words import count
from ui.replay.history import latest


class Join:
    """Sums up the agents of one parallel state."""

    def __init__(self, path: str, agents: Sequence[str], around: Around, changed: Callable[[], Any]) -> None:
        self.path, self.agents, self._around, self._changed = path, agents, around, changed
        self.opened = False
        """Whether its agents are shown beneath."""
        with ui.element('button').classes('join').props('type="button" aria-expanded="false"') as self.root:
            ui.icon('call_merge').props('size="18px"')
            Text('b', place(path).capitalize())
            self._sum = Text('span', '', 'muted num')
        self.root.on('click', self._toggle)

    def show(self, view: View) -> bool:
        """Show what was done up to this step; gives whether the state has been left, and anything was."""
        known = {path: view.agents[path] for path in self.agents if path in view.agents}
        left = bool(known) and self.path not in view.entered
        self.root.set_visibility(left)
        if not left:
            return False
        failed = sum(bool(agent.get('problem')) for agent in known.values())
        tools = sum(
            part['kind'] == 'call'
            for agent in known.values()
            for said in agent.get('messages', ())
            for part in said['parts']
        )
        spent = sum((view.spending[path].total for path in known if path in view.spending), Usage())
        stay = latest(self._around.history.stays, self.path, view.seq)
        facts = [
            f'joined at step {stay.seq}' if stay else '',
            f'{sum(map(_answered, known.values()))} of {len(known)} answered',
            f'{failed} failed' if failed else '',
            count(tools, 'tool call') if tools else '',
            in_short(spent),
            span(stay.until - stay.since) if stay else '',
        ]
        self._sum.show(' · '.join(filter(None, facts)))
        return True

    def _toggle(self) -> None:
        self.opened = not self.opened
        self.root.props(f'aria-expanded="{str(self.opened).lower()}"')
        self._changed()


def _answered(agent: Mapping[str, Any]) -> bool:
    """Whether its last word is an answer, and not a call or a task."""
    last = (agent.get('messages') or [{'role': '', 'parts': ()}])[-1]
    asks = any(part['kind'] == 'call' for part in last['parts'])
    return not agent.get('problem') and last['role'] == 'assistant' and not asks
