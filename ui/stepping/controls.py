"""The controls of step mode in a run's head: pause, go on, step in, over, out; and why it is held."""

from __future__ import annotations

from nicegui import ui
from nicegui.events import KeyEventArguments

from ui.menus import menu
from ui.parts import Text, attach
from ui.presenters.reading import place
from ui.stepping.stepper import Stepper
from ui.stepping.words import DEEDS, STEPS, Deed, regions, stopped_words
from ui.theme import button

SPOKEN = {'in': 'Stepping in …', 'over': 'Stepping over …', 'out': 'Stepping out …'}
"""Of a step that is under way."""


class DeedButton:
    """One control: it says its name, what it does, and why it makes no sense where it makes none."""

    def __init__(self, deed: Deed, stepper: Stepper, *, at: str = '', name: str = '', kind: str = '') -> None:
        """Draw it for the whole run, or without a text for the region `at` of this name."""
        self.deed, self._stepper, self.at = deed, stepper, at
        words = DEEDS[deed]
        self._hint = words.tooltip(region=bool(at))
        self.element = button('' if name else words.name, icon=words.icon, kind=f'deed {kind}')
        self.element.on('click', self.press)
        # On a narrow screen the text is not seen, and not read.
        attach(self.element, aria_label=f'{words.name}: {name}' if name else words.name)
        if not at:
            attach(self.element, aria_keyshortcuts=words.key.upper())
        with self.element:
            self._tooltip = ui.tooltip(self._hint)
        self._refused = ''

    def show(self) -> None:
        """As it is now."""
        refused = self._stepper.refusal(self.deed, self.at)
        busy = self._stepper.busy(self.at) == self.deed
        if refused != self._refused:
            self._refused = refused
            # It stays in reach of the keyboard and of the pointer, so that it can say why.
            attach(self.element, aria_disabled='true' if refused else 'false')
            self._tooltip.set_text(f'{self._hint}. {refused}.' if refused else self._hint)
        self.element.classes(add='stepping' if busy else '', remove='' if busy else 'stepping')

    async def press(self) -> None:
        """Do it, or say why not."""
        if refused := self._stepper.refusal(self.deed, self.at):
            ui.notify(f'{refused}.', timeout=3_000)
            return
        await self._stepper.do(self.deed, self.at)


class Controls:
    """Pause with its menu of regions while the run moves; a group of buttons when anything is held."""

    def __init__(self, stepper: Stepper) -> None:
        """Draw them, and listen to their keys."""
        self._stepper = stepper
        with ui.element('div').classes('deeds').props('role="group" aria-label="Pause"') as self._going:
            self._pause = DeedButton('pause', stepper)
            with button('', icon='expand_more', label='Pause only a part') as self._more:
                attach(self._more, aria_haspopup='menu')
                with menu('Pause only a part') as opened:
                    self._regions = ui.element('div').props('role="none"')
                opened.on('show', self._offer)
        with ui.element('div').classes('deeds').props('role="group" aria-label="Step mode"') as self._held:
            self._continue = DeedButton('resume', stepper, kind='primary')
            self._steps = [DeedButton(how, stepper) for how in STEPS]
        ui.keyboard(on_key=self._key, ignore=['input', 'select', 'textarea'])
        stepper.on_change(self.show)

    def show(self) -> None:
        """As the run is now."""
        stepper, view = self._stepper, self._stepper.view
        running = stepper.steerable and view is not None
        held = running and stepper.held()
        self._going.set_visibility(bool(running and view and not view.paused))
        self._held.set_visibility(held)
        self._more.set_visibility(bool(view and len(regions(stepper.shape, view.active)) > 1))
        self._held.props(f'aria-busy="{str(bool(stepper.busy())).lower()}"')
        for one in (self._continue, *self._steps):
            one.show()

    def _offer(self) -> None:
        view = self._stepper.view
        self._regions.clear()
        if view is None:
            return
        with self._regions:
            for path, at in regions(self._stepper.shape, view.active).items():
                deed: Deed = 'resume' if self._stepper.held(path) else 'pause'
                with ui.element('button').classes('menu-item two').props('type="button"') as entry:
                    attach(entry, role='menuitem')
                    Text('b', f'{DEEDS[deed].name}: {place(path)}')
                    Text('span', at, 'muted small')
                entry.on('click', lambda _, deed=deed, path=path: self._stepper.do(deed, path))

    async def _key(self, event: KeyEventArguments) -> None:
        pressed = event.modifiers
        if not event.action.keydown or event.action.repeat or not self._stepper.steerable:
            return
        if pressed.ctrl or pressed.alt or pressed.meta or pressed.shift:
            return
        shown = [self._continue, *self._steps] if self._held.visible else [self._pause]
        for one in shown:
            if event.key.name == DEEDS[one.deed].key:
                await one.press()


class Stopped:
    """Why the run stands still: a line beside its status, which screen readers speak."""

    def __init__(self, stepper: Stepper) -> None:
        """Draw it; it is empty while the run moves."""
        self._stepper = stepper
        self._said = Text('span', '', 'run-stopped', role='status')
        stepper.on_change(self.show)

    def show(self) -> None:
        """As the run is now."""
        stepper = self._stepper
        said = ''
        if stepper.view is not None and not stepper.view.status.ended:
            busy = stepper.busy()
            said = (
                SPOKEN[busy]
                if busy and stepper.mine
                else stopped_words(stepper.why()) or _held_parts(stepper)
            )
        self._said.show(said)
        attach(self._said, title=said)


def _held_parts(stepper: Stepper) -> str:
    """Which regions stand still, where the others go on."""
    view = stepper.view
    if view is None or view.paused or not stepper.held():
        return ''
    held = [place(path) for path in regions(stepper.shape, view.active) if stepper.held(path)]
    return f'Held: {", ".join(held)}' if held else ''
