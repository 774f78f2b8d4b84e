"""Tiles of providers: whom to connect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine.models import KNOWN_PROVIDERS, EndpointInfo, KnownProvider
from ui.formatting.values import count
from ui.web.components.widgets import Box, Text
from ui.web.pages.shared.connecting.form import OTHER, OTHER_TITLE

ALWAYS = ('ollama', 'lmstudio')
"""Local servers that are shown even if they are not found."""


def draw_tiles(infos: Sequence[EndpointInfo], choose: Callable[[str], Any]) -> None:
    """Draw a tile for each provider; a click calls `choose` with its name."""
    by_name = {info.endpoint: info for info in infos}
    hosted = [provider for provider in KNOWN_PROVIDERS.values() if provider.key]
    local = [
        provider
        for name, provider in KNOWN_PROVIDERS.items()
        if not provider.key and (name in ALWAYS or name in by_name)
    ]
    with Box('tiles', 'ul'):
        for provider in hosted:
            _tile(provider, _hosted_note(by_name.get(provider.endpoint.name)), choose)
        _draw(OTHER, OTHER_TITLE, 'OpenAI-compatible', choose)
    Text('h3', 'On this machine')
    with Box('tiles', 'ul'):
        for provider in local:
            _tile(provider, _local_note(by_name.get(provider.endpoint.name)), choose)


def _hosted_note(info: EndpointInfo | None) -> str:
    if info is None:
        return ''
    fails = info.problem or (info.tested and info.tested.problem)
    return 'Does not work' if fails else 'Connected'


def _local_note(info: EndpointInfo | None) -> str:
    if info is None:
        return 'Not found'
    return f'Found: {count(len(info.models), "model")}' if info.found == 'this machine' else 'Connected'


def _tile(provider: KnownProvider, note: str, choose: Callable[[str], Any]) -> None:
    _draw(provider.endpoint.name, provider.title, note, choose)


def _draw(name: str, title: str, note: str, choose: Callable[[str], Any]) -> None:
    with Box(tag='li'), Box('tile', 'button', type='button') as tile:
        Text('b', title)
        if note:
            Text('span', note, 'muted small')
    tile.on('click', partial(choose, name))
