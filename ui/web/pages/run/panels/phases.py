"""The time of a run by phase: a strip under the header, and a tab with all details."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic import ValidationError
from typing_extensions import override

from engine import Status
from engine.patterns import BurnDown, PhaseBudget, burn_down
from engine.records import Shape, View
from ui.formatting.steps import duration, running_seconds
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, CachedElement, Text, set_attributes, table_head
from ui.web.pages.run.pane import LazyPanel, Moment, RunPage, StripPart

Table = tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]
"""A title, the column headers, and rows."""


class Phases(StripPart):
    """Bars of planning, execution and verification."""

    panel = 'time'
    keeps_height = True

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._shape = page.context.shape
        self._clock: tuple[View, PhaseBudget] | None = None
        with Box('phases', role='group', aria_label='Time'):
            self._whole = Text('span', '', 'phase-whole num')
            self._round = Text('span', '', 'phase-round num')
            self._bars = {phase: _Bar(name) for phase, name in NAMES.items()}

    @override
    def show_step(self, moment: Moment) -> None:
        view = moment.view
        clock = run_clock(self._shape, view)
        self._clock = (view, clock) if clock else None
        if clock is None:
            self._whole.show('The clock has not started.')
        self.tick(moment, view.time)

    @override
    def tick(self, moment: Moment, now: float) -> None:
        if self._clock is None:
            return
        view, clock = self._clock
        ran = running_seconds(view, now)
        self._whole.show(f'Time: {time_left(clock, ran, view.status)}')
        self._round.show(round_name(clock))
        for burn in phase_burns(clock, ran):
            self._bars[burn.phase].show(clock, burn)


class _Bar:
    def __init__(self, name: str) -> None:
        with Box('phase') as self._root:
            Text('span', name, 'phase-name')
            self._meter = Box(
                'phase-bar', role='meter', aria_label=f'{name}: used', aria_valuemin='0', aria_valuemax='100'
            )
            with self._meter:
                Box('phase-forecast')
                Box('phase-used')
            with Box('num muted', 'span'):
                self._text, self._outlook = Text('span', ''), Text('span', '', 'phase-outlook')
        self._drawn: object = None

    def show(self, clock: PhaseBudget, burn: BurnDown) -> None:
        most = max(burn.allotted, burn.used, burn.forecast, 0.001)
        used, forecast, share = (
            round(100 * part / most) for part in (burn.used, burn.forecast, burn.allotted)
        )
        state, line = phase_status(clock, burn), phase_line(clock, burn)
        if self._drawn == (used, forecast, share, state, line):
            return
        self._drawn = (used, forecast, share, state, line)
        self._meter.style(f'--used: {used}%; --forecast: {forecast}%; --share: {share}%')
        set_attributes(self._meter, aria_valuenow=str(used), aria_valuetext=f'{line}, {state}')
        set_attributes(self._root, title=line)
        name = state_class(state)
        self._root.classes(add=name, remove=' '.join({*map(state_class, STATES)} - {name}))
        self._text.show(phase_used(burn))
        self._outlook.show(phase_outlook(clock, burn))


class TimePanel(LazyPanel):
    """All details: the phases of this round, the current step, added time, the phases of all rounds."""

    title = 'Time'
    panel = 'time'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._shape = page.context.shape
        self.root = CachedElement('time-tab')

    def fill(self, view: View) -> None:
        """Draw the clock as it was at the step of `view`."""
        self._draw(view, view.time)

    @override
    def tick(self, moment: Moment, now: float) -> None:
        view = self._view = moment.view
        if self._opened:
            self._draw(view, now)

    def _draw(self, view: View, now: float) -> None:
        clock, ran = run_clock(self._shape, view), running_seconds(view, now)
        facts = self._list_tables(view, clock, ran) if clock else None
        if not self.root.clear_if_changed(facts):
            return
        with self.root:
            if facts is None:
                empty_state('schedule', 'The clock has not started.')
                return
            for title, head, rows in facts:
                _draw_table(title, head, rows)

    def _list_tables(self, view: View, clock: PhaseBudget, ran: float) -> list[Table]:
        phases = [
            (
                NAMES[burn.phase],
                phase_status(clock, burn),
                duration(burn.used),
                duration(burn.allotted),
                duration(burn.forecast),
            )
            for burn in phase_burns(clock, ran)
        ]
        tables: list[Table] = [
            (round_name(clock), ('Phase', 'State', 'Used', 'Allotted', 'Forecast'), phases)
        ]
        rows = [('Total', time_left(clock, ran, view.status)), *step_lines(clock, ran)]
        if clock.steps:
            rows.append(('Steps of the plan', f'{clock.done} of {clock.steps} done'))
        rows += [('Added time', grant_text(grant)) for grant in clock.grants]
        tables.append(('Details', ('Item', 'Value'), rows))
        spent = [
            (
                str(span.round),
                NAMES.get(span.phase, span.phase),
                duration(span.started),
                duration(span.ended - span.started),
            )
            for span in clock.spans
        ]
        if spent:
            tables.append(('Finished phases', ('Round', 'Phase', 'Started at', 'Duration'), spent))
        return tables


def _draw_table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    Text('h2', title)
    box = Box('time-table', role='group', tabindex='0', aria_label=title)
    with box, Box('table numbers', 'table'):
        table_head(head)
        with Box(tag='tbody'):
            for first, *rest in rows:
                with Box(tag='tr'):
                    Text('th', first, scope='row')
                    for cell in rest:
                        Text('td', cell, 'num')


NAMES = {'planning': 'Planning', 'executing': 'Execution', 'verifying': 'Verification'}


def run_clock(shape: Shape, view: View) -> PhaseBudget | None:
    """Return the clock of a run at a step; None if it has none or the clock has not started."""
    stored = view.memory.get(shape.field('time'))
    if not isinstance(stored, Mapping):
        return None
    try:
        clock = PhaseBudget.model_validate(stored)
    except ValidationError:  # The memory of a pattern that has changed, or of one's own.
        return None
    return clock if clock.limit else None


def phase_burns(clock: PhaseBudget, ran: float) -> tuple[BurnDown, ...]:
    """Return the phases of the round, with their forecasts."""
    return burn_down(clock, ran, done=clock.done, steps=clock.steps)


PhaseState = Literal['upcoming', 'in progress', 'over budget', 'done', 'not started']
STATES: tuple[PhaseState, ...] = get_args(PhaseState)


def phase_status(clock: PhaseBudget, burn: BurnDown) -> PhaseState:
    """Return the status of a phase in words, since colour alone is not enough."""
    if _is_overdrawn(burn):
        return 'over budget'
    if clock.phase == burn.phase and clock.stopped < 0:
        return 'in progress'
    if burn.used:
        return 'done'
    return 'upcoming' if clock.stopped < 0 else 'not started'


def state_class(state: PhaseState) -> str:
    """Return the CSS class of a phase in this state."""
    return state.replace(' ', '-')


def round_name(clock: PhaseBudget) -> str:
    """Return the name of the round whose phases are shown."""
    return f'Round {clock.round}'


def phase_line(clock: PhaseBudget, burn: BurnDown) -> str:
    """Return a phase on one line: used, allotted, forecast."""
    return f'{round_name(clock)}: {phase_used(burn)}{phase_outlook(clock, burn)}'


def phase_used(burn: BurnDown) -> str:
    """Return how much of its allotted time a phase has used."""
    return f'{duration(burn.used)} of {duration(burn.allotted)}' + (' · over' if _is_overdrawn(burn) else '')


def _is_overdrawn(burn: BurnDown) -> bool:
    return burn.used > burn.allotted + MIN_DURATION


def phase_outlook(clock: PhaseBudget, burn: BurnDown) -> str:
    """Return the forecast for the current phase, in words."""
    now = clock.phase == burn.phase and clock.stopped < 0
    forecast = f', forecast {duration(burn.forecast)}' if now and burn.forecast > burn.used + 0.5 else ''
    is_late = now and burn.is_over and not _is_overdrawn(burn)
    return forecast + (' (over budget)' if is_late else '')


MIN_DURATION = 0.05
"""Seconds below which a duration would read as 0.0 s."""


def time_left(clock: PhaseBudget, ran: float, status: Status) -> str:
    """Return how much of the total time is left, in words."""
    if clock.stopped >= 0:
        left = clock.ends - clock.stopped
        how = 'ended' if status.ended else 'stopped'
        is_over = left < MIN_DURATION
        return f'used up: {duration(clock.limit)}' if is_over else f'{how} with {duration(left)} left'
    left = clock.seconds_left(ran)
    return (
        f'{duration(left)} of {duration(clock.limit)} left'
        if left >= MIN_DURATION
        else f'{duration(clock.limit)} used up'
    )


def step_lines(clock: PhaseBudget, ran: float) -> Iterator[tuple[str, str]]:
    """Yield the time left for the current step, and how much of it may go into fixes."""
    if clock.phase != 'executing' or clock.stopped >= 0 or not clock.step_budget:
        return
    left = clock.step_ends - ran
    yield 'This step', f'{duration(max(0.0, left))} of {duration(clock.step_budget)} left'
    if clock.fixes_end:
        left = clock.fixes_end - ran
        yield 'Fix cycles', f'{duration(left)} left for new ones' if left > 0 else 'none left for new ones'
    else:
        yield 'Fix cycles', f'up to {duration(clock.fix_budget)}; none so far'


def grant_text(grant: Any) -> str:
    """Describe the time that a person has added."""
    return f'{duration(grant.seconds)} added after {duration(grant.ran)}' + (
        ', to continue after a stop' if grant.resumed else ''
    )
