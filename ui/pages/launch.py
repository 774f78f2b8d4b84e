"""Launch: a pattern's form, inputs to begin with, and its diagram beside."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from engine import EngineError, RunId
from ui.door import Door
from ui.launch.launcher import Launcher
from ui.pages import missing
from ui.parts import Text, link
from ui.presenters.words import first_sentence
from ui.runs.filters import traffic_path
from ui.served import served
from ui.theme import frame


def register(door: Door) -> None:
    """Serve the page."""

    @served('/launch/{pattern}')
    async def launch(request: Request, pattern: str) -> None:
        made = door().catalog.patterns.get(pattern)
        if made is None:
            missing.unknown_pattern(door, pattern)
            return
        again, replay = None, request.query_params.get('replay', '')
        if run := replay or request.query_params.get('again', ''):
            try:
                again = await door().info(RunId(run))
            except EngineError:
                again = None
        with frame(f'Launch {made.title}'):
            with ui.element('div').classes('hero'):
                with link('/', 'small back'):
                    Text('span', '← All patterns')
                Text('h1', f'Launch {made.title}')
                Text('p', first_sentence(made.summary), 'muted')
                with link(traffic_path(made.name), 'small'):
                    Text('span', 'What its runs did, on one diagram')
            launcher = Launcher(door, made)
            await launcher.load(again, replay=bool(replay))
