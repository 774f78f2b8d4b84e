"""The time of each phase as a burn-down: a strip under the run's head, and a tab with all of it."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from engine import Burn, PhaseClock, Shape, View
from ui.parts import Text, attach
from ui.presenters.phases import NAMES, burns, clock_of, grant, ran_at, said_of, stands, step_lines, whole
from ui.presenters.reading import span
from ui.theme import empty

Table = tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]
"""A title, the heads of the columns, and rows."""


class Phases:
    """Bars of planning, execution and verification; nothing where the run keeps no such clock."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._clock: tuple[View, PhaseClock] | None = None
        with ui.element('div').classes('phases').props('role="group" aria-label="Time"') as self.root:
            self._whole = Text('span', '', 'phase-whole num')
            self._bars = {phase: _Bar(name) for phase, name in NAMES.items()}
        self.root.set_visibility(bool(shape.clock))

    def show(self, view: View) -> None:
        """Show the time at this step."""
        clock = clock_of(self._shape, view)
        self._clock = (view, clock) if clock else None
        if self._shape.clock and clock is None:
            self._whole.show('The clock has not begun.')
        self.tick(view.time)

    def tick(self, now: float) -> None:
        """Let time burn down."""
        if self._clock is None:
            return
        view, clock = self._clock
        ran = ran_at(view, now)
        self._whole.show(f'Time: {whole(clock, ran, view.status)}')
        for burn in burns(clock, ran):
            self._bars[burn.phase].show(clock, burn)


class _Bar:
    def __init__(self, name: str) -> None:
        with ui.element('div').classes('phase') as self._root:
            Text('span', name, 'phase-name')
            self._meter = ui.element('div').classes('phase-bar')
            attach(
                self._meter, role='meter', aria_label=f'{name}: used', aria_valuemin='0', aria_valuemax='100'
            )
            with self._meter:
                ui.element('div').classes('phase-forecast')
                ui.element('div').classes('phase-used')
            self._text = Text('span', '', 'num muted')
        self._drawn: object = None

    def show(self, clock: PhaseClock, burn: Burn) -> None:
        most = max(burn.allotted, burn.used, burn.forecast, 0.001)
        used, hope, share = (round(100 * part / most) for part in (burn.used, burn.forecast, burn.allotted))
        state, said = stands(clock, burn), said_of(clock, burn)
        if self._drawn == (used, hope, share, state, said):
            return
        self._drawn = (used, hope, share, state, said)
        self._meter.style(f'--used: {used}%; --forecast: {hope}%; --share: {share}%')
        attach(self._meter, aria_valuenow=str(used), aria_valuetext=f'{said}, {state}')
        name = state.replace(' ', '-')
        self._root.classes(
            add=name,
            remove=' '.join({'over-its-share', 'under-way', 'over', 'to-come', 'not-begun'} - {name}),
        )
        self._text.show(said)


class TimeTab:
    """All of it in words: the phases of this round, the step under way, earlier rounds, added time."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._opened = False
        self._view: View | None = None
        self._drawn: object = None
        self.root = ui.element('div').classes('time-tab')

    def open(self, opened: bool) -> None:
        """Whether anybody looks."""
        self._opened = opened
        if self._view is not None:
            self.show(self._view, self._view.time)

    def show(self, view: View, now: float) -> None:
        """Show it at this step, as it is `now`."""
        self._view = view
        if not self._opened:
            return
        clock, ran = clock_of(self._shape, view), ran_at(view, now)
        facts = self._facts(view, clock, ran) if clock else None
        if facts == self._drawn:
            return
        self._drawn = facts
        self.root.clear()
        with self.root:
            if facts is None:
                empty('schedule', 'The clock has not begun.')
                return
            for title, head, rows in facts:
                _table(title, head, rows)

    def _facts(self, view: View, clock: PhaseClock, ran: float) -> list[Table]:
        phases = [
            (NAMES[one.phase], stands(clock, one), span(one.used), span(one.allotted), span(one.forecast))
            for one in burns(clock, ran)
        ]
        found: list[Table] = [('This round', ('Phase', 'State', 'Used', 'Share', 'Forecast'), phases)]
        rows = [('Whole time', whole(clock, ran, view.status)), *step_lines(clock, ran)]
        if clock.steps:
            rows.append(('Steps of the plan', f'{clock.done} of {clock.steps} over'))
        rows += [('More time', grant(one)) for one in clock.grants]
        found.append(('In detail', ('What', 'How much'), rows))
        spent = [
            (
                str(one.round),
                NAMES.get(one.phase, one.phase),
                span(one.started),
                span(one.ended - one.started),
            )
            for one in clock.spans
        ]
        if spent:
            found.append(('What was spent', ('Round', 'Phase', 'Began after', 'Took'), spent))
        return found


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    Text('h2', title)
    box = ui.element('div').classes('time-table').props(f'role="group" tabindex="0" aria-label="{title}"')
    with box, ui.element('table'):
        with ui.element('thead'), ui.element('tr'):
            for name in head:
                Text('th', name, scope='col')
        with ui.element('tbody'):
            for first, *rest in rows:
                with ui.element('tr'):
                    Text('th', first, scope='row')
                    for cell in rest:
                        Text('td', cell, 'num')
