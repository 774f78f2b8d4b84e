"""The artifacts of a run's agents at the step that is shown: each with who made it, and a preview."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from nicegui import ui

from engine import View
from ui.elements import Conversation, Tree
from ui.panes.around import Around
from ui.panes.tabs import Tabs
from ui.parts import Text, attach, link
from ui.theme import empty

TITLE = 'Artifacts'
LONG = 3_000
"""Characters of an artifact that is folded until somebody opens it."""
Key = tuple[str, str]
"""An agent's path, and the name of an artifact of its."""


class Artifacts:
    """A tab of named results; offered where agents make some, and drawn while somebody looks."""

    def __init__(self, around: Around, tabs: Tabs) -> None:
        self._around, self._tabs = around, tabs
        self._view: View | None = None
        self._offered = any(state.criteria for state in around.shape.states)
        self._turned: dict[Key, bool] = {}
        """Those that somebody has opened or folded."""
        self._drawn: dict[Key, tuple[Mapping[str, Any], ui.element]] = {}
        self._groups: dict[str, ui.element] = {}
        with tabs.panel(TITLE):
            self._root = ui.element('div').classes('artifacts')
            with ui.element('div') as self._none:
                empty('inventory_2', 'No agent has made an artifact up to this step.')
        tabs.offer(TITLE, self._offered)

    def show(self, view: View) -> None:
        """Show the artifacts at another step, as soon as somebody looks."""
        self._view = view
        self._offered = self._offered or bool(_made(view))
        self._tabs.offer(TITLE, self._offered)
        self.refresh()

    def refresh(self) -> None:
        """Draw what has changed, if somebody looks."""
        if self._view is None or self._tabs.shown != TITLE:
            return
        made = _made(self._view)
        self._none.set_visibility(not made)
        for key in [key for key, (item, _) in self._drawn.items() if made.get(key) != item]:
            self._drawn.pop(key)[1].delete()
        agents = list(dict.fromkeys(path for path, _ in made))
        for path in [path for path in self._groups if path not in agents]:
            self._groups.pop(path).delete()
        for path in agents:
            self._group(path)
        for place, (key, item) in enumerate(made.items()):
            if key not in self._drawn:
                with self._groups[key[0]]:
                    self._drawn[key] = (item, self._card(key, item))
                before = sum(path == key[0] for path, _ in list(made)[:place])
                self._drawn[key][1].move(self._groups[key[0]], before + 1)

    def _group(self, path: str) -> None:
        if path not in self._groups:
            with self._root, ui.element('section').classes('artifact-group') as group:
                Text('h3', self._around.named(path), 'artifact-agent')
            self._groups[path] = group

    def _card(self, key: Key, item: Mapping[str, Any]) -> ui.element:
        size = int(item.get('size', 0))
        opened = self._turned.get(key, size <= LONG)
        with ui.element('details').classes('artifact') as card:
            with ui.element('summary'):
                Text('span', key[1], 'artifact-name mono')
                Text('span', f'by {item["by"]}' if item.get('by') else 'said by the agent', 'chip')
                Text('span', f'{size:,} characters', 'muted small num')
            # It scrolls, so the keyboard must get there.
            body = ui.element('div').classes('artifact-body').props('role="region" tabindex="0"')
            attach(body, aria_label=key[1])

        def turned(now: bool) -> None:
            self._turned[key] = now
            if now and not body.default_slot.children:
                self._fill(body, key[1], item)

        if opened:
            card.props('open')
            self._fill(body, key[1], item)
        card.on('toggle', lambda event: turned(bool(event.args)), js_handler='(e) => emit(e.target.open)')
        return card

    def _fill(self, body: ui.element, name: str, item: Mapping[str, Any]) -> None:
        value = item.get('value')
        with body:
            if isinstance(value, (Mapping, list)) and value:
                Tree(dict(value) if isinstance(value, Mapping) else {str(n): v for n, v in enumerate(value)})
            elif isinstance(value, str) and value:
                cut_json = item.get('kept') and value.lstrip()[:1] in '{['
                text = f'~~~~json\n{value}\n~~~~' if cut_json else value
                Conversation([{'kind': 'text', 'text': text}], label=name, follow=False)
            else:
                Text('p', json.dumps(value) if value != '' else 'It is empty.', 'mono')
            if item.get('kept'):
                Text('p', f'This is its beginning: {len(str(value)):,} characters.', 'muted small')
                address = f'{self._around.kept}/{item["kept"]}?artifact={quote(name, safe="")}'
                with link(address, 'btn small', download=''):
                    ui.icon('download')
                    ui.label('Download all of it')


def _made(view: View) -> dict[Key, Mapping[str, Any]]:
    """All artifacts at a step, those of one agent after those of another."""
    return {
        (path, name): item
        for path, agent in view.agents.items()
        for name, item in (agent.get('artifacts') or {}).items()
        if isinstance(item, Mapping)
    }
