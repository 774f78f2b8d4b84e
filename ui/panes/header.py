"""The head of the run page: name, status, time, tokens, and the controls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import Conductor, Origin, RunInfo, View
from ui.exports.menu import export_button
from ui.origins import origin_chip
from ui.panes.naming import Naming
from ui.panes.spending import SpendingTable
from ui.parts import attach
from ui.presenters.reading import passed, span, until
from ui.presenters.spending import headline_of
from ui.stepping.controls import Controls, Stopped
from ui.stepping.stepper import Stepper
from ui.theme import button, pill


class Header:
    """What a run is doing, and the buttons that steer it."""

    def __init__(
        self,
        conductor: Conductor,
        info: RunInfo,
        stepper: Stepper,
        steer: Callable[[str], Awaitable[None]],
        named: Callable[[str], str],
    ) -> None:
        """Draw the head; `steer` gets `retry`, `fork`, `cancel` or `more`.

        `named` gives the name of an agent by its path.
        """
        self._info = info
        self._known = info.pattern in conductor.catalog.patterns
        self._shown: tuple[object, ...] = ()
        self._said_origins: set[Origin] = set()
        with ui.element('div').classes('run-head'):
            with ui.element('div').classes('run-name'):
                self.naming = Naming(conductor, info)
                with ui.element('div').classes('run-facts'):
                    self._status = ui.element('span')
                    ui.label(info.pattern).classes('chip')
                    self._origins = ui.element('span').classes('ghost')
                    if info.parent:
                        with (
                            ui.element('a')
                            .classes('chip')
                            .props(f'href="/runs/{info.parent}?at={info.parent_at}"')
                        ):
                            ui.icon('call_split').props('size="15px"')
                            ui.label(f'from {info.parent} at {info.parent_at}')
                    self._time = ui.label().classes('num muted')
                    self._draw_spending(named)
            with ui.element('div').classes('run-steering'):
                with ui.element('div').classes('run-controls') as controls:
                    controls.props('role="toolbar" aria-label="Steer the run"')
                    Controls(stepper)
                    self._retry = _control(
                        'Retry', 'healing', steer, 'Start a new run from the last good step'
                    )
                    _control('Fork', 'call_split', steer, 'Start a new run from the step that is shown')
                    self._cancel = _control('Cancel', 'stop', steer, 'Stop for good', kind='danger')
                    export_button(info)
                    more = button('', icon='more_horiz', kind='quiet', label='More')
                    more.on('click', lambda: steer('more'))
                Stopped(stepper)

    def show(self, view: View, *, mine: bool) -> None:
        """Show the run as it is now; `mine` says whether this server can steer it."""
        self._say_origins(view)
        shown = (view.status, mine, view.usage)
        if shown == self._shown:
            return
        self._shown = shown
        self._status.clear()
        with self._status:
            pill(view.status)
        running = mine and not view.status.ended
        self._cancel.set_visibility(running)
        self._retry.set_visibility(view.status.retriable and self._known)
        self._tokens.set_text(headline_of(view.usage))
        self._spending.show(view)

    def _say_origins(self, view: View) -> None:
        """Where the agents' replies are from; before the first of them, where they are going to be from."""
        coming: Origin = 'simulated' if self._info.simulated else 'live'
        if self._info.options.get('replay'):
            coming = 'replayed'
        found = {origin for spent in view.spending.values() for origin in spent.origins} or {coming}
        if found == self._said_origins:
            return
        self._said_origins = found
        self._origins.clear()
        with self._origins:
            for origin in sorted(found):
                origin_chip(origin)

    def _draw_spending(self, named: Callable[[str], str]) -> None:
        with button('', kind='quiet small spent') as opener:
            self._tokens = ui.label().classes('num')
            ui.icon('expand_more').props('size="16px"')
            with ui.menu().classes('popover').props('role="dialog"') as popover:
                attach(popover, aria_label='Tokens and cost')
                self._spending = SpendingTable(named)
        opener.classes(remove='icon').props('aria-haspopup="dialog"')

    def tick(self, view: View, now: float) -> None:
        """Let the clock go on."""
        spent = passed(view.started, until(view, now), self._info.created)
        self._time.set_text(span(spent) if view.started else '')


def _control(
    text: str, icon: str, steer: Callable[[str], Awaitable[None]], hint: str, kind: str = ''
) -> ui.element:
    made = button(text, icon=icon, kind=kind)
    made.tooltip(hint)
    made.on('click', lambda: steer(text.lower()))
    return made
