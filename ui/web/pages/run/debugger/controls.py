"""Step mode in the header: pause, resume, step in, over and out; and why the run is paused."""

from __future__ import annotations

from nicegui import ui
from nicegui.events import KeyEventArguments

from ui.formatting.debugger import CONTROLS, STEPS, DebugAction, active_regions, pause_sentence
from ui.formatting.steps import path_text
from ui.web.components.menus import menu
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, set_class
from ui.web.pages.shared.run.debug_controller import DebugController

IN_PROGRESS = {'in': 'Stepping in…', 'over': 'Stepping over…', 'out': 'Stepping out…'}
"""Shown while a step is in progress."""


class ControlButton:
    """One control, with its name, what it does, and why it is disabled."""

    def __init__(
        self,
        action: DebugAction,
        controller: DebugController,
        *,
        at: str = '',
        name: str = '',
        kind: str = '',
    ) -> None:
        """Draw it for the whole run, or as an icon for the region `at` of this name."""
        self.action, self._controller, self.at = action, controller, at
        words = CONTROLS[action]
        self._hint = words.tooltip(region=bool(at))
        self.element = button('' if name else words.name, icon=words.icon, kind=f'debug-action {kind}')
        self.element.on('click', self.press)
        # On a narrow screen the text is hidden, even from screen readers.
        set_attributes(self.element, aria_label=f'{words.name}: {name}' if name else words.name)
        if not at:
            set_attributes(self.element, aria_keyshortcuts=words.key.upper())
        with self.element:
            self._tooltip = ui.tooltip(self._hint)
        self._refused = ''

    def show(self) -> None:
        """Show the current state of the control."""
        refused = self._controller.refusal(self.action, self.at)
        busy = self._controller.pending_step(self.at) == self.action
        if refused != self._refused:
            self._refused = refused
            # It stays focusable when disabled, so that it can explain why.
            set_attributes(self.element, aria_disabled='true' if refused else 'false')
            self._tooltip.set_text(f'{self._hint}. {refused}.' if refused else self._hint)
        set_class(self.element, 'stepping', on=busy)

    async def press(self) -> None:
        """Do it, or explain why not."""
        if refused := self._controller.refusal(self.action, self.at):
            ui.notify(f'{refused}.', timeout=3_000)
            return
        await self._controller.perform(self.action, self.at)


class Controls:
    """A pause button with a menu of regions; step buttons while anything is paused."""

    def __init__(self, controller: DebugController) -> None:
        """Draw them, and handle their keys."""
        self._controller = controller
        with Box('debug-actions', role='group', aria_label='Pause') as self._running_group:
            self._pause = ControlButton('pause', controller)
            with button('', icon='expand_more', label='Pause one region') as self._more:
                # In charts with regions it is hidden at times, but keeps its space.
                self._more.set_visibility(any(state.kind == 'parallel' for state in controller.shape.states))
                set_attributes(self._more, aria_haspopup='menu')
                with menu('Pause one region') as opened:
                    self._regions = Box(role='none')
                opened.on('show', self._draw_regions)
        with Box('debug-actions', role='group', aria_label='Step mode') as self._paused_group:
            self._continue = ControlButton('resume', controller, kind='primary')
            self._steps = [ControlButton(how, controller) for how in STEPS]
        ui.keyboard(on_key=self._on_key, ignore=['input', 'select', 'textarea'])
        controller.on_change(self.show)

    def show(self) -> None:
        """Show the current state of the run."""
        controller, view = self._controller, self._controller.view
        running = controller.can_control and view is not None
        is_paused = running and controller.is_paused()
        self._running_group.set_visibility(bool(running and view and not view.paused))
        self._paused_group.set_visibility(is_paused)
        several = bool(view and len(active_regions(controller.shape, view.active)) > 1)
        set_class(self._more, 'away', on=not several)
        self._paused_group.props(f'aria-busy="{str(bool(controller.pending_step())).lower()}"')
        for control in (self._continue, *self._steps):
            control.show()

    def _draw_regions(self) -> None:
        view = self._controller.view
        self._regions.clear()
        if view is None:
            return
        with self._regions:
            for path, at in active_regions(self._controller.shape, view.active).items():
                action: DebugAction = 'resume' if self._controller.is_paused(path) else 'pause'
                with Box('menu-item two', 'button', type='button', role='menuitem') as entry:
                    Text('b', f'{CONTROLS[action].name}: {path_text(path)}')
                    Text('span', at, 'muted small')
                entry.on('click', lambda _, action=action, path=path: self._controller.perform(action, path))

    async def _on_key(self, event: KeyEventArguments) -> None:
        pressed = event.modifiers
        if not event.action.keydown or event.action.repeat or not self._controller.can_control:
            return
        if pressed.ctrl or pressed.alt or pressed.meta or pressed.shift:
            return
        controls = [self._continue, *self._steps] if self._paused_group.visible else [self._pause]
        for control in controls:
            if event.key.name == CONTROLS[control.action].key:
                await control.press()


class PauseReason:
    """Why the run is paused: a line next to its status, announced by screen readers."""

    def __init__(self, controller: DebugController) -> None:
        """Draw it; it is empty while the run is not paused."""
        self._controller = controller
        self._position = Text('span', '', 'run-stopped', role='status')
        controller.on_change(self.show)

    def show(self) -> None:
        """Show the current state of the run."""
        controller = self._controller
        text = ''
        if controller.view is not None and not controller.view.status.ended:
            busy = controller.pending_step()
            text = (
                IN_PROGRESS[busy]
                if busy and controller.may_control
                else pause_sentence(controller.pause_reason()) or _describe_paused_regions(controller)
            )
        self._position.show(text)
        set_attributes(self._position, title=text)


def _describe_paused_regions(controller: DebugController) -> str:
    """List the regions that are paused while others continue."""
    view = controller.view
    if view is None or view.paused or not controller.is_paused():
        return ''
    paused = [
        path_text(path)
        for path in active_regions(controller.shape, view.active)
        if controller.is_paused(path)
    ]
    return f'Paused: {", ".join(paused)}' if paused else ''
