"""The switch between the two faces of the run page, kept for each person."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import app, ui
from nicegui.events import KeyEventArguments

from ui.web.components.widgets import Box, set_attributes
from ui.web.pages.run.pane import FACES, Face, RunPage

FACE_KEY = 'face'
"""Under which a person's choice is stored."""
KEY = 'd'


def face_of(query: Mapping[str, str]) -> Face:
    """Return the face that the address asks for, which becomes this person's choice, else the last choice."""
    if query.get('face') in FACES:
        app.storage.user[FACE_KEY] = query['face']
    chosen = 'debug' if query.get('inspect') else app.storage.user.get(FACE_KEY)
    return next((face for face in FACES if face == chosen), FACES[0])


class FaceSwitch:
    """Two segments, one pressed; a key turns to the other."""

    def __init__(self, page: RunPage) -> None:
        """Draw it."""
        self._page = page
        self._segments: dict[Face, Box] = {}
        with Box('segments', role='group', aria_label='Face of the page'):
            for face in FACES:
                segment = Box('segment', 'button', type='button', aria_keyshortcuts=KEY.upper())
                with segment:
                    ui.label(face.capitalize())
                segment.on('click', lambda _, face=face: self._choose(face))
                self._segments[face] = segment
        ui.keyboard(on_key=self._on_key, ignore=['input', 'select', 'textarea'])

    def show(self, face: Face) -> None:
        """Show which face is shown."""
        for other, segment in self._segments.items():
            set_attributes(segment, aria_pressed=str(other == face).lower())

    def _choose(self, face: Face) -> None:
        app.storage.user[FACE_KEY] = face
        self._page.show_face(face)

    def _on_key(self, event: KeyEventArguments) -> None:
        pressed = event.modifiers
        if not event.action.keydown or event.action.repeat or event.key.name != KEY:
            return
        if not (pressed.ctrl or pressed.alt or pressed.meta or pressed.shift):
            self._choose(next(face for face in FACES if face != self._page.face))
