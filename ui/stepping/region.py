"""Step mode in an agent's pane: its region is held, goes on, is stepped; others do as is chosen."""

from __future__ import annotations

from nicegui import ui

from engine import region_of
from ui.parts import Text, attach
from ui.presenters.reading import place
from ui.stepping.controls import SPOKEN, DeedButton
from ui.stepping.stepper import Stepper
from ui.stepping.words import STEPS, Deed, ended, stopped_words
from ui.theme import button

GOING_ON: tuple[Deed, ...] = ('resume', *STEPS)
OTHERS = {True: 'Others wait', False: 'Others go on'}
HINT = 'What the other regions do while this one goes on or takes a step; press to change it'


class RegionControls:
    """Nothing where the agent is in no region: the head of the page has the controls of the whole run."""

    def __init__(self, stepper: Stepper, agent: str) -> None:
        """`agent` is the path of the agent's state; `draw_pause` and `draw_bar` make the parts."""
        self._stepper, self.region = stepper, region_of(stepper.shape, agent)
        self._name = place(self.region)
        self._bar: ui.element | None = None

    def draw_pause(self) -> None:
        """Draw the button that holds the region, for the head of the pane."""
        self._pause = DeedButton('pause', self._stepper, at=self.region, name=self._name, kind='quiet small')
        self._pause.element.set_visibility(False)

    def draw_bar(self) -> None:
        """Draw the badge and the controls of a region that is held."""
        stepper, region, name = self._stepper, self.region, self._name
        with ui.element('div').classes('region-bar').props('role="group"') as self._bar:
            attach(self._bar, aria_label=f'Step mode: {name}')
            self._badge = Text('span', 'held', 'chip held')
            self._why = Text('span', '', 'region-why small')
            with ui.element('div').classes('deeds'):
                self._deeds = [
                    DeedButton(deed, stepper, at=region, name=name, kind='small') for deed in GOING_ON
                ]
            self._others = button(OTHERS[True], kind='small quiet others')
            self._others.tooltip(HINT)
            self._others.on('click', self._turn)
        self._bar.set_visibility(False)
        self._shown: tuple[bool, ...] = ()
        stepper.on_change(self.show)
        self.show()

    def show(self) -> None:
        """As the region is now."""
        stepper = self._stepper
        if self._bar is None or not self.region:
            return
        view = stepper.view
        active = view is not None and self.region in view.entered and not view.status.ended
        held, busy = active and stepper.held(self.region), stepper.busy(self.region)
        steerable = active and stepper.steerable
        going = bool(active and view and not ended(stepper.shape, view, self.region))
        self._pause.element.set_visibility(going and steerable and not held and not busy)
        self._bar.set_visibility(going and (held or bool(busy)))
        for one in self._deeds:
            one.element.set_visibility(steerable)
            one.show()
        self._badge.show('stepping' if busy else 'held')
        self._why.show(SPOKEN[busy] if busy else stopped_words(stepper.why(self.region)))
        self._others.set_visibility(steerable)
        if self._others_said is not stepper.others_wait:
            self._others_said = stepper.others_wait
            self._others.clear()
            with self._others:
                ui.label(OTHERS[stepper.others_wait])
                ui.tooltip(HINT)

    _others_said = True

    def _turn(self) -> None:
        self._stepper.others_wait = not self._stepper.others_wait
        self._stepper.tell()
