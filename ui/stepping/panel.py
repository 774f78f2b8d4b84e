"""The list of a run's breakpoints: on or off, hits, once, what is held; to add, edit and take away."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from engine import Breakpoint
from ui.dialogs import ask
from ui.parts import Text
from ui.presenters.words import count
from ui.stepping.row import Deeds, draw_row
from ui.stepping.setting import Setting
from ui.stepping.stepper import Stepper
from ui.stepping.words import ELSEWHERE, facts, label
from ui.theme import button, empty

NONE = 'No breakpoint is set. One stops the run where a state is entered or left, or when a condition holds.'
OVER = 'The run has ended: its breakpoints can be read, and not changed.'
NOW = 'They are shown as they are now, and not as they were at this step.'


class BreakpointsPanel:
    """All breakpoints of a run, as they are now, whatever step the page shows."""

    def __init__(self, stepper: Stepper, setting: Setting) -> None:
        """Draw the list; it follows the run, and so what other windows set."""
        self._stepper, self._setting = stepper, setting
        self._shown: object = None
        self._past = False
        self._deeds = Deeds(
            change=setting.change, edit=setting.edit, remove=lambda item: setting.remove([item])
        )
        with ui.element('div').classes('breakpoints'):
            with ui.element('div').classes('breakpoints-head') as self._head:
                button('Add breakpoint', icon='add', kind='small').on('click', self._ask)
                ui.element('span').classes('grow')
                self._clear = button('Remove all', kind='small quiet danger')
                self._clear.on('click', self._ask_to_clear)
            self._note = Text('p', '', 'muted small breakpoints-note')
            self._list = ui.element('div')
        stepper.on_change(self.show)

    def stand(self, at: int | None) -> None:
        """The page shows step `at`; None is the present."""
        self._past = at is not None
        self._say()

    def show(self) -> None:
        """As they are now."""
        stepper = self._stepper
        found = stepper.view.breakpoints if stepper.view else ()
        shown = (found, stepper.steerable, stepper.hit)
        if shown == self._shown:
            return
        self._shown = shown
        self._head.set_visibility(stepper.steerable)
        self._clear.set_visibility(len(found) > 1)
        self._say()
        self._list.clear()
        with self._list:
            if not found:
                empty('adjust', NONE)
                return
            deeds = self._deeds if stepper.steerable else None
            with ui.element('ul').classes('breakpoint-list').props('aria-label="Breakpoints"'):
                for item in found:
                    draw_row(item, facts(item), deeds, number=item.id, hit=item.id in stepper.hit)

    def _say(self) -> None:
        view, said = self._stepper.view, []
        if self._past and view is not None and view.breakpoints:
            said.append(NOW)
        if view is not None and not self._stepper.steerable:
            said.append(OVER if view.status.ended else ELSEWHERE)
        self._note.show(' '.join(said))
        self._note.set_visibility(bool(said))

    async def _ask(self) -> None:
        await self._setting.add()

    async def _ask_to_clear(self) -> None:
        found: Sequence[Breakpoint] = self._stepper.view.breakpoints if self._stepper.view else ()
        said = '; '.join(label(item) for item in found[:3]) + (' …' if len(found) > 3 else '.')
        title = f'Remove {count(len(found), "breakpoint")}?'
        if await ask(title, said, yes='Remove all', no='Keep them'):
            await self._setting.remove(found)
