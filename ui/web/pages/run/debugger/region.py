"""Step mode in an agent's pane: pause, resume and step its region."""

from __future__ import annotations

from nicegui import ui

from engine.runtime import region_of
from ui.formatting.debugger import STEPS, DebugAction, has_region_ended, pause_sentence
from ui.formatting.steps import path_text
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_class
from ui.web.pages.run.debugger.controls import IN_PROGRESS, ControlButton
from ui.web.pages.shared.run.debug_controller import DebugController

PAUSED_ACTIONS: tuple[DebugAction, ...] = ('resume', *STEPS)
OTHERS = {True: 'Others: paused', False: 'Others: running'}
HINT = 'What the other regions do while this one resumes or steps; press to change'


class RegionControls:
    """Controls of an agent's region; empty if it is in none, since the header controls the whole run."""

    def __init__(self, controller: DebugController, agent: str) -> None:
        """`agent` is the path of the agent's state; `draw_pause` and `draw_bar` make the parts."""
        self._controller, self.region = controller, region_of(controller.shape, agent)
        self._name = path_text(self.region)
        self._bar: ui.element | None = None

    def draw_pause(self) -> None:
        """Draw the button that pauses the region, for the header of the pane."""
        self._pause = ControlButton(
            'pause', self._controller, at=self.region, name=self._name, kind='quiet small'
        )
        self._pause.element.set_visibility(bool(self.region))

    def draw_bar(self) -> None:
        """Draw the badge and the controls of a paused region."""
        controller, region, name = self._controller, self.region, self._name
        with Box('region-bar', role='group', aria_label=f'Step mode: {name}') as self._bar:
            self._badge = Text('span', 'paused', 'chip held')
            self._why = Text('span', '', 'region-why small')
            with Box('debug-actions'):
                self._actions = [
                    ControlButton(action, controller, at=region, name=name, kind='small')
                    for action in PAUSED_ACTIONS
                ]
            self._others = button(OTHERS[True], kind='small quiet others')
            self._others.tooltip(HINT)
            self._others.on('click', self._toggle_others)
        self._bar.set_visibility(False)
        controller.on_change(self.show)
        self.show()

    def show(self) -> None:
        """Show the current state of the region."""
        controller = self._controller
        if self._bar is None or not self.region:
            return
        view = controller.view
        active = view is not None and self.region in view.entered and not view.status.ended
        is_paused, busy = active and controller.is_paused(self.region), controller.pending_step(self.region)
        steerable = active and controller.can_control
        going = bool(active and view and not has_region_ended(controller.shape, view, self.region))
        set_class(self._pause.element, 'away', on=is_paused or busy or not (going and steerable))
        self._bar.set_visibility(going and (is_paused or bool(busy)))
        for action in self._actions:
            action.element.set_visibility(steerable)
            action.show()
        self._badge.show('stepping' if busy else 'paused')
        self._why.show(IN_PROGRESS[busy] if busy else pause_sentence(controller.pause_reason(self.region)))
        self._others.set_visibility(steerable)
        if self._others_shown is not controller.others_wait:
            self._others_shown = controller.others_wait
            self._others.clear()
            with self._others:
                ui.label(OTHERS[controller.others_wait])
                ui.tooltip(HINT)

    _others_shown = True

    def _toggle_others(self) -> None:
        self._controller.others_wait = not self._controller.others_wait
        self._controller.notify()
