"""The agents' artifacts at the step that is shown, each with its author and a preview."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from nicegui import ui
from typing_extensions import override

from engine.history import artifacts_of
from engine.records import View
from ui.formatting.steps import brief_value
from ui.web.components.copy_buttons import copy_buttons
from ui.web.components.elements import JsonTree, draw_markdown
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, Text, link
from ui.web.pages.run.pane import LazyPanel, Moment, RunPage

LONG = 3_000
"""Number of characters above which an artifact is folded at first."""
Key = tuple[str, str]
"""An agent's path, and the name of its artifact."""


class Artifacts(LazyPanel):
    """A tab of named results; offered if agents make any, drawn while it is visible."""

    title = 'Artifacts'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._offered = any(state.criteria for state in page.context.shape.states)
        self._toggled: dict[Key, bool] = {}
        """Whether a person has opened an artifact (or folded it)."""
        self._drawn: dict[Key, tuple[Mapping[str, Any], ui.element]] = {}
        self._groups: dict[str, ui.element] = {}
        self._root = Box('artifacts')
        with Box() as self._none:
            empty_state('inventory_2', 'No artifacts up to this step.')

    @property
    @override
    def offered(self) -> bool:
        return self._offered

    @override
    def show(self, moment: Moment) -> None:
        self._offered = self._offered or bool(artifacts_of(moment.view))
        super().show(moment)

    @override
    def fill(self, view: View) -> None:
        artifacts = artifacts_of(view)
        self._none.set_visibility(not artifacts)
        for key in [key for key, (item, _) in self._drawn.items() if artifacts.get(key) != item]:
            self._drawn.pop(key)[1].delete()
        agents = list(dict.fromkeys(path for path, _ in artifacts))
        for path in [path for path in self._groups if path not in agents]:
            self._groups.pop(path).delete()
        for path in agents:
            self._draw_group(path)
        for place, (key, item) in enumerate(artifacts.items()):
            if key not in self._drawn:
                with self._groups[key[0]]:
                    self._drawn[key] = (item, self._draw_card(key, item))
                before = sum(path == key[0] for path, _ in list(artifacts)[:place])
                self._drawn[key][1].move(self._groups[key[0]], before + 1)

    def _draw_group(self, path: str) -> None:
        if path not in self._groups:
            with self._root, Box('artifact-group', 'section') as group:
                Text('h3', self.context.name_of(path), 'artifact-agent')
            self._groups[path] = group

    def _draw_card(self, key: Key, item: Mapping[str, Any]) -> ui.element:
        size = int(item.get('size', 0))
        opened = self._toggled.get(key, size <= LONG)
        with Box('artifact', 'details') as card:
            with Box(tag='summary'):
                Text('span', key[1], 'artifact-name mono')
                Text('span', f'by {item["by"]}' if item.get('by') else 'written by the agent', 'chip')
                Text('span', f'{size:,} characters', 'muted small num')
            # It scrolls, so it must be focusable.
            body = Box('artifact-body', role='region', tabindex='0', aria_label=key[1])

        def toggle(now: bool) -> None:
            self._toggled[key] = now
            if now and not body.default_slot.children:
                self._fill(body, key[1], item)

        if opened:
            card.props('open')
            self._fill(body, key[1], item)
        card.on('toggle', lambda event: toggle(bool(event.args)), js_handler='(e) => emit(e.target.open)')
        return card

    def _fill(self, body: ui.element, name: str, item: Mapping[str, Any]) -> None:
        value = item.get('value')
        with body:
            if not item.get('kept'):
                with Box('artifact-take'):
                    copy_buttons(name, partial(_as_file, name, value))
            if isinstance(value, (Mapping, list)) and value:
                JsonTree(
                    dict(value) if isinstance(value, Mapping) else {str(n): v for n, v in enumerate(value)}
                )
            elif isinstance(value, str) and value:
                cut_json = item.get('kept') and value.lstrip()[:1] in '{['
                text = f'~~~~json\n{value}\n~~~~' if cut_json else value
                draw_markdown(text, name)
            else:
                Text('p', _describe_scalar(value))
            if item.get('kept'):
                Text('p', f'Only the first {len(str(value)):,} characters are shown.', 'muted small')
                address = f'{self.context.content_url}/{item["kept"]}?artifact={quote(name, safe="")}'
                with link(address, 'btn small', download=''):
                    ui.icon('download')
                    ui.label('Download')


def _describe_scalar(value: Any) -> str:
    if isinstance(value, bool):
        return 'Yes' if value else 'No'
    return brief_value(value) if isinstance(value, int | float) else 'None' if value is None else 'Empty.'


def _as_file(name: str, value: Any) -> tuple[str, str]:
    """Return a file name for an artifact, and its text."""
    if isinstance(value, str):
        return f'{name}.md', value
    return f'{name}.json', json.dumps(value, ensure_ascii=False, indent=2)
