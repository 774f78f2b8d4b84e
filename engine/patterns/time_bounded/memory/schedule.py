"""Time budgets: shares, remaining time and forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import Field

from engine.records.frozen import FrozenModel
from engine.statechart.memory import Memory

PLANNING_SHARE, MAX_PLANNING = 0.1, 15 * 60.0
EXECUTION_SHARE = 0.8
VERIFICATION_SHARE, MAX_VERIFICATION = 0.1, 10 * 60.0
FIX_SHARE = 0.3
MIN_STEP_SECONDS = 1.0
"""With less time left, no step begins; no step gets less."""
PHASES: Final = ('planning', 'executing', 'verifying')


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Seconds per phase of a round."""

    planning: float
    executing: float
    verifying: float

    def of(self, phase: str) -> float:
        """Return a phase's share."""
        return float(getattr(self, phase)) if phase in PHASES else 0.0


def allocate(seconds: float) -> Allocation:
    """Divide a budget.

    Planning gets 10 %, at most 15 minutes; execution 80 %; verification 10 %, at most 10 minutes. Time
    saved by the two caps stays in reserve.
    """
    return Allocation(
        planning=min(PLANNING_SHARE * seconds, MAX_PLANNING),
        executing=EXECUTION_SHARE * seconds,
        verifying=min(VERIFICATION_SHARE * seconds, MAX_VERIFICATION),
    )


def seconds_per_step(execution: float, steps: int) -> float:
    """Seconds per step, divided evenly."""
    return execution / max(1, steps)


def seconds_for_fixes(step: float) -> float:
    """Seconds of a step's budget available for fix cycles."""
    return FIX_SHARE * step


class TimeSpan(FrozenModel):
    """A period spent in one phase, in seconds of running time."""

    phase: str
    round: int
    started: float
    ended: float


class TimeGrant(FrozenModel):
    """Time added by a person."""

    seconds: float
    time: float
    ran: float
    resumed: bool = False
    """Whether the run had stopped before."""


class PhaseBudget(Memory):
    """The loop's time budget. All moments are seconds of running time since the start, without pauses."""

    limit: float = 0.0
    """The whole budget, including added time."""
    grace: float = 0.0
    ends: float = 0.0
    """When time is up."""
    round: int = 0
    """The round, counted from 1."""
    round_started: float = 0.0
    round_budget: float = 0.0
    """Time left at the start of the round, to be divided among its phases."""
    phase: str = ''
    phase_started: float = 0.0
    phase_ends: float = 0.0
    step_budget: float = 0.0
    step_ends: float = 0.0
    fixes_end: float = 0.0
    """When the step's time for fix cycles ends; 0 before the first."""
    call_ends: float = 0.0
    steps: int = 0
    """Steps of the current plan, without those of sub-plans."""
    done: int = 0
    """How many of these are completed or failed."""
    stopped: float = -1.0
    """When it stopped to wait for more time; negative while it runs."""
    idle: float = 0.0
    """Seconds spent stopped."""
    spans: list[TimeSpan] = Field(default_factory=list)
    grants: list[TimeGrant] = Field(default_factory=list)

    @property
    def allocation(self) -> Allocation:
        """This round's shares."""
        return allocate(self.round_budget)

    def share(self, phase: str) -> float:
        """Return a phase's share in this round, plus time left over from earlier phases."""
        usual = self.allocation.of(phase)
        if phase == 'planning':
            return usual
        if phase == self.phase and self.stopped < 0:
            return self.phase_ends - self.phase_started
        phase_spans = [
            span for span in self.spans if span.phase == phase and span.started >= self.round_started
        ]
        if not phase_spans:
            return usual
        reserved = self.allocation.verifying if phase == 'executing' else 0.0
        return max(0.0, self.round_started + self.round_budget - reserved - phase_spans[0].started)

    @property
    def fix_budget(self) -> float:
        """Seconds of the step's budget available for fix cycles."""
        return seconds_for_fixes(self.step_budget)

    def seconds_left(self, ran: float) -> float:
        """Seconds until time is up; negative during the grace period."""
        return self.ends - ran

    def is_over(self, ran: float) -> bool:
        """Whether nothing new may start: the budget is used up."""
        return ran >= self.ends

    def begin_round(self, ran: float, round_: int) -> None:
        """Start a round, or go on with it after a stop, with the time left."""
        self.round = round_
        self.round_started, self.round_budget = ran, max(0.0, self.seconds_left(ran))
        self.steps = self.done = 0

    def begin_phase(self, phase: str, ran: float) -> None:
        """Start another phase; its share begins now and ends no later than the whole budget."""
        self.end_phase(ran)
        self.phase, self.phase_started = phase, ran
        self.phase_ends = self._phase_end(phase, ran)

    def _phase_end(self, phase: str, ran: float) -> float:
        """Return when a phase starting at `ran` has used its share, plus time left over from earlier ones."""
        if phase == 'planning':
            return min(self.ends, ran + self.allocation.of(phase))
        if phase == 'executing':
            return min(self.ends, max(ran, self.ends - self.allocation.verifying))
        return self.ends

    @property
    def hard_end(self) -> float:
        """When the phase is cut off; steps that outlast their share may use all the time left."""
        return self.ends if self.phase == 'executing' else min(self.phase_ends, self.ends)

    def end_phase(self, ran: float) -> None:
        """Record the time the phase took."""
        if self.phase:
            span = TimeSpan(phase=self.phase, round=self.round, started=self.phase_started, ended=ran)
            self.spans.append(span)
            self.phase = ''

    def begin_step(self, ran: float, budget: float) -> None:
        """Start a step with its own time, within the phase's."""
        self.step_budget, self.step_ends, self.fixes_end = budget, min(self.hard_end, ran + budget), 0.0

    def begin_fix(self, ran: float) -> None:
        """Start the step's first fix cycle."""
        if not self.fixes_end:
            self.fixes_end = min(self.step_ends, ran + self.fix_budget)

    def begin_call(self, ran: float, longest: float, *bounds: float) -> None:
        """Start the clock for an agent's call, limited by `longest` and every enclosing bound."""
        self.call_ends = min(ran + longest, self.hard_end, *bounds)

    def add_time(self, seconds: float, time: float, ran: float) -> None:
        """Add time during a run, which extends every share."""
        self.grants.append(TimeGrant(seconds=seconds, time=time, ran=ran))
        before = self.allocation
        self.limit, self.ends = self.limit + seconds, self.ends + seconds
        self.round_budget += seconds
        self._extend_current(seconds, before)

    def _extend_current(self, seconds: float, before: Allocation) -> None:
        """Extend the current phase, step and call by their part of the added time."""
        if self.phase == 'planning':
            more = self.allocation.planning - before.planning
        elif self.phase == 'executing':
            more = seconds - (self.allocation.verifying - before.verifying)
        else:
            more = seconds
        bound = self.step_ends if self.phase == 'executing' else self.phase_ends
        cut = self.call_ends >= bound - TIME_TOLERANCE
        self.phase_ends = min(self.ends, self.phase_ends + more)
        if self.phase == 'executing':
            more = seconds_per_step(more, self.steps - self.done)
            self.step_budget += more
            self.step_ends = min(self.ends, self.step_ends + more)
            self.fixes_end += seconds_for_fixes(more) if self.fixes_end else 0.0
        if cut:
            self.call_ends = min(self.ends, self.call_ends + more)

    def stop(self, ran: float) -> None:
        """Stop the clock: no time counts from now on."""
        self.end_phase(ran)
        self.stopped = ran

    def resume(self, seconds: float, time: float, ran: float) -> None:
        """Resume after a stop, with this many seconds added."""
        self.grants.append(TimeGrant(seconds=seconds, time=time, ran=ran, resumed=True))
        self.idle += ran - self.stopped
        left = max(0.0, self.ends - self.stopped)
        self.limit, self.ends, self.stopped = self.limit + seconds, ran + left + seconds, -1.0
        self.begin_round(ran, self.round)


TIME_TOLERANCE = 0.001
"""Bounds that differ by no more than this many seconds count as equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnDown:
    """A phase in a burn-down: its share, the time used, and the expected total."""

    phase: str
    allotted: float
    used: float
    forecast: float

    @property
    def is_over(self) -> bool:
        """Whether it is expected to exceed its share."""
        return self.forecast > self.allotted


def burn_down(clock: PhaseBudget, ran: float, *, done: int, steps: int) -> tuple[BurnDown, ...]:
    """Return this round's phases at a given moment, with a forecast.

    Each remaining step is expected to take the average of the finished ones, or the step's budget
    if none is finished; a phase that has not begun, its share.
    """
    phases = []
    for phase in PHASES:
        allotted = clock.share(phase)
        spans = [span for span in clock.spans if span.phase == phase and span.started >= clock.round_started]
        used = sum(span.ended - span.started for span in spans)
        active = clock.phase == phase and clock.stopped < 0
        used += ran - clock.phase_started if active else 0.0
        forecast = used if spans and not active else max(used, allotted)
        if phase == 'executing' and steps and active:
            each = used / done if done else seconds_per_step(allotted, steps)
            forecast = max(used, each * steps)
        phases.append(BurnDown(phase=phase, allotted=allotted, used=used, forecast=forecast))
    return tuple(phases)
