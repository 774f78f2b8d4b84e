"""Time: how a budget is shared out, what is left of each share, and what is to be expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import Field

from engine.frozen import Record
from engine.memory import Memory

PLANNING_SHARE, PLANNING_MOST = 0.1, 15 * 60.0
EXECUTION_SHARE = 0.8
VERIFICATION_SHARE, VERIFICATION_MOST = 0.1, 10 * 60.0
FIX_SHARE = 0.3
PHASES: Final = ('planning', 'executing', 'verifying')


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Seconds for each phase of a round."""

    planning: float
    executing: float
    verifying: float

    def of(self, phase: str) -> float:
        """The share of a phase."""
        return float(getattr(self, phase)) if phase in PHASES else 0.0


def allocate(seconds: float) -> Allocation:
    """Share out a budget.

    Planning gets 10 % and at most 15 minutes, execution 80 %, verification 10 % and at most 10 minutes; what
    the two limits save stays in reserve.
    """
    return Allocation(
        planning=min(PLANNING_SHARE * seconds, PLANNING_MOST),
        executing=EXECUTION_SHARE * seconds,
        verifying=min(VERIFICATION_SHARE * seconds, VERIFICATION_MOST),
    )


def per_step(execution: float, steps: int) -> float:
    """Seconds for one of so many steps."""
    return execution / max(1, steps)


def for_fixes(step: float) -> float:
    """Seconds of a step's budget that may go into fix cycles."""
    return FIX_SHARE * step


class Span(Record):
    """A stretch of time that one phase took, in seconds of running."""

    phase: str
    round: int
    started: float
    ended: float


class Grant(Record):
    """Time that a person has added."""

    seconds: float
    time: float
    ran: float
    resumed: bool = False
    """Whether the run had stopped before."""


class Clock(Memory):
    """The loop's own time. All moments are seconds of running since the start, without pauses."""

    limit: float = 0.0
    """The whole budget, with what was added."""
    grace: float = 0.0
    ends: float = 0.0
    """When the time is over."""
    round_started: float = 0.0
    round_budget: float = 0.0
    """What was left when the round began: this is shared out."""
    phase: str = ''
    phase_started: float = 0.0
    phase_ends: float = 0.0
    step_budget: float = 0.0
    step_ends: float = 0.0
    fixes_end: float = 0.0
    """When no further fix cycle of the step begins; 0 as long as there was none."""
    call_ends: float = 0.0
    steps: int = 0
    """Of the plan under way, without those of plans within it."""
    done: int = 0
    """Of these, completed or failed."""
    stopped: float = -1.0
    """When it stopped to wait for more time; below 0 while it runs."""
    idle: float = 0.0
    """Seconds that it has stood stopped."""
    spans: list[Span] = Field(default_factory=list)
    grants: list[Grant] = Field(default_factory=list)

    @property
    def allocation(self) -> Allocation:
        """The shares of this round."""
        return allocate(self.round_budget)

    @property
    def fix_budget(self) -> float:
        """Seconds of the step's budget that may go into fix cycles."""
        return for_fixes(self.step_budget)

    def left(self, ran: float) -> float:
        """Seconds until the time is over; below 0 in the grace."""
        return self.ends - ran

    def is_over(self, ran: float) -> bool:
        """Whether nothing new may begin: the whole is used up, or what the steps had of it."""
        return ran >= self.ends or (self.phase == 'executing' and ran >= self.phase_ends)

    def begin_round(self, ran: float) -> None:
        """Share out what is left."""
        self.round_started, self.round_budget = ran, max(0.0, self.left(ran))
        self.steps = self.done = 0

    def begin_phase(self, phase: str, ran: float, round_: int) -> None:
        """Go on to another phase; its share begins now, and ends with the whole at the latest."""
        self.end_phase(ran, round_)
        self.phase, self.phase_started = phase, ran
        self.phase_ends = min(self.ends, ran + self.allocation.of(phase))

    def end_phase(self, ran: float, round_: int) -> None:
        """Write down what the phase took."""
        if self.phase:
            span = Span(phase=self.phase, round=round_, started=self.phase_started, ended=ran)
            self.spans.append(span)
            self.phase = ''

    def begin_step(self, ran: float, budget: float) -> None:
        """A step has its own time, within that of the phase."""
        self.step_budget, self.step_ends, self.fixes_end = budget, min(self.phase_ends, ran + budget), 0.0

    def begin_fix(self, ran: float) -> None:
        """The first fix cycle of a step begins."""
        if not self.fixes_end:
            self.fixes_end = min(self.step_ends, ran + self.fix_budget)

    def begin_call(self, ran: float, longest: float, *bounds: float) -> None:
        """An agent is asked: it has so long, and no longer than what it works in has."""
        self.call_ends = min(ran + longest, self.phase_ends, *bounds)

    def add(self, seconds: float, time: float, ran: float) -> None:
        """More time, while it runs: every share grows with it."""
        self.grants.append(Grant(seconds=seconds, time=time, ran=ran))
        before = self.allocation
        self.limit, self.ends = self.limit + seconds, self.ends + seconds
        self.round_budget += seconds
        more = self.allocation.of(self.phase) - before.of(self.phase)
        self.phase_ends = min(self.ends, self.phase_ends + more)

    def stop(self, ran: float, round_: int) -> None:
        """The time is over: what comes now does not count."""
        self.end_phase(ran, round_)
        self.stopped = ran

    def go_on(self, seconds: float, time: float, ran: float) -> None:
        """Begin again after a stop, with so many seconds."""
        self.grants.append(Grant(seconds=seconds, time=time, ran=ran, resumed=True))
        self.idle += ran - self.stopped
        self.limit, self.ends, self.stopped = self.limit + seconds, ran + seconds, -1.0
        self.begin_round(ran)


@dataclass(frozen=True, slots=True, kw_only=True)
class Burn:
    """One phase in a burn-down: its share, what is used of it, and what it is expected to take in all."""

    phase: str
    allotted: float
    used: float
    forecast: float

    @property
    def over(self) -> bool:
        """Whether it is expected to take more than its share."""
        return self.forecast > self.allotted


def burn_down(clock: Clock, ran: float, *, done: int, steps: int) -> tuple[Burn, ...]:
    """The phases of this round at a moment, with a forecast.

    Execution is expected to take as long for each step that is left as the finished ones took on average, or
    the step's budget while none is finished; a phase that has not begun, its share.
    """
    found = []
    for phase in PHASES:
        allotted = clock.allocation.of(phase)
        spans = [span for span in clock.spans if span.phase == phase and span.started >= clock.round_started]
        used = sum(span.ended - span.started for span in spans)
        active = clock.phase == phase and clock.stopped < 0
        used += ran - clock.phase_started if active else 0.0
        forecast = used if spans and not active else max(used, allotted)
        if phase == 'executing' and steps and active:
            each = used / done if done else per_step(allotted, steps)
            forecast = max(used, each * steps)
        found.append(Burn(phase=phase, allotted=allotted, used=used, forecast=forecast))
    return tuple(found)
