"""Free chart: a pattern's chart in which guards answer as told, and actions do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from engine.records import Event, StatePath
from engine.statechart.chart import Chart, Microstep
from engine.statechart.decision_cache import CallbackRef, DecisionContext
from engine.statechart.pattern import Pattern
from engine.statechart.run_state import History, RunState

MAX_ANSWERS = 60
"""Maximum number of guards asked about one event; a longer decision is not looked at."""


class TooManyQuestions(Exception):
    """One event asks more guards than a rehearsal follows."""


@dataclass(slots=True)
class Answers:
    """What guards answer, in the order in which they are asked: as given, and after that no."""

    given: tuple[bool, ...] = ()
    replies: list[bool] = field(default_factory=list)

    def next(self) -> bool:
        """Return the next answer."""
        if len(self.replies) >= MAX_ANSWERS:
            raise TooManyQuestions
        answer = self.given[len(self.replies)] if len(self.replies) < len(self.given) else False
        self.replies.append(answer)
        return answer


class FreeDecision(DecisionContext):
    """A decision in which no code of the pattern runs.

    A guard that is asked twice answers the same, until an action may have changed memory.
    """

    def __init__(
        self, state: RunState, event: Event, active: tuple[StatePath, ...], answers: Answers
    ) -> None:
        super().__init__(state, event, active)
        self._script = answers
        self._known: dict[tuple[Any, ...], bool] = {}

    @override
    def call(self, callback: CallbackRef) -> bool:
        if callback.wanted is None:
            self._known.clear()
            return True
        key = (callback.call or callback.name, callback.path if callback.needs_context else '')
        if key not in self._known:
            self._known[key] = self._script.next()
        return self._known[key]


class FreeChart(Chart):
    """A chart whose guards answer from `answers`."""

    def __init__(self, pattern: Pattern) -> None:
        super().__init__(pattern)
        self.answers = Answers()
        fields = pattern.Memory.model_fields
        unset = {name: None for name, field in fields.items() if field.is_required()}  # By parameters.
        self._state = RunState(pattern, pattern.Memory.model_construct(**unset))

    @property
    def always(self) -> list[StatePath]:
        """The sources of edges without an event, in the order in which they are tried."""
        return self._always

    @override
    def _context(self, state: RunState, event: Event, active: tuple[StatePath, ...]) -> DecisionContext:
        return FreeDecision(state, event, active, self.answers)

    def decisions(
        self, active: tuple[StatePath, ...], event: Event, history: History
    ) -> Iterator[tuple[tuple[bool, ...], Microstep | None, History]]:
        """Yield the microsteps that an event can cause, with the answers and what is remembered then.

        Args:
            active: the active states.
            event: the event.
            history: what is remembered before.
        """
        answers: tuple[bool, ...] | None = ()
        while answers is not None:
            self.answers = Answers(answers)
            state = self._state
            if self._with_history:
                state = RunState(state.pattern, state.memory, history=history)
            try:
                microstep = self._fire(active, state, event, event)
            except TooManyQuestions:
                return
            replies = self.answers.replies
            yield tuple(replies), microstep, state.history
            while replies and replies[-1]:
                replies.pop()
            answers = (*replies[:-1], True) if replies else None

    def completions(self, microstep: Microstep) -> list[tuple[str, StatePath]]:
        """Return the composites that a microstep completes, each with the event it raises."""
        return self._completions(microstep)

    def play(self, active: tuple[StatePath, ...], event: Event, answers: tuple[bool, ...]) -> list[Microstep]:
        """Return the microsteps that an event causes if guards answer like this."""
        self.answers = Answers(answers)
        return self.fire(active, self._state, event)
