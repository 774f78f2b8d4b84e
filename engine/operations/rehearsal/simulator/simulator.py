"""Simulator: walks through a pattern's chart step by step, back and forward. Calls and stores nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from engine.errors import InvalidInput, PatternError
from engine.models.protocol import SCRIPTED, Hints, ModelRequest, schema_of
from engine.models.stubs import stub_of, stubs_for
from engine.operations.rehearsal.records import PlayedEvent
from engine.operations.rehearsal.simulator.choices import Agents, Choice, Kind, choices, event_of, is_over
from engine.operations.rehearsal.simulator.lenient_chart import LenientChart
from engine.operations.rehearsal.simulator.moment import Moment
from engine.operations.rehearsal.simulator.walk import visits_of
from engine.records import EXHAUSTED, Event, Shape, StatePath
from engine.records.jsonable import to_jsonable
from engine.runtime.run_factory import initial_state
from engine.statechart.pattern import Pattern
from engine.statechart.run_state import RunState
from engine.statechart.shape_builder import START

Draft = Callable[[ModelRequest], Any]
"""Returns a stub for a reply: a text, a record, or a list of one turn; None if there is none."""
NO_STUBS: Mapping[str, Sequence[Any]] = {}
NO_RESULTS: Mapping[StatePath, Mapping[str, Any]] = {}
MAX_MOMENTS = 300
"""Maximum length of a walk."""


class Simulator:
    """A walk through the chart of a pattern: guards and actions are the pattern's own, and so is memory.

    Args:
        pattern: the pattern with its parameters.
        approval: the tools whose calls need a person's approval.
        draft: what agents answer if nothing else is given.
        results: what work without an agent gives, by state, if nothing else is given.
        now: when the walk begins, in seconds since 1970.

    Raises:
        PatternError: the pattern's memory cannot be made from its parameters.
    """

    def __init__(
        self,
        pattern: Pattern,
        *,
        approval: Collection[str] = (),
        draft: Draft | None = None,
        results: Mapping[StatePath, Mapping[str, Any]] = NO_RESULTS,
        now: float = 0.0,
    ) -> None:
        self.pattern, self._draft, self._results, self._now = pattern, draft, results, now
        self.chart = LenientChart(pattern)
        self._agents = Agents.of(pattern, frozenset(approval))
        self._moments: list[Moment] = []
        self._at = 0
        self.restart()

    @property
    def shape(self) -> Shape:
        """The chart, for a diagram."""
        return self.chart.shape

    @property
    def moments(self) -> tuple[Moment, ...]:
        """All moments of the walk, also those it has gone back from."""
        return tuple(self._moments)

    @property
    def at(self) -> int:
        """The number of the present moment, from 0."""
        return self._at

    @property
    def moment(self) -> Moment:
        """The present moment."""
        return self._moments[self._at]

    def restart(self, answers: tuple[bool, ...] | None = None) -> None:
        """Begin again: enter the first state. `answers` are what guards are told to say."""
        state = initial_state(self.pattern)
        event = Event(name='start', data={'memory': to_jsonable(state.memory)}, time=self._now)
        before = Moment(event=event, active=(START,), document=state.dump())
        self._moments = [self._play(before, event, answers)]
        self._at = 0

    def choices(self) -> list[Choice]:
        """Return what may come next; nothing once the run has ended."""
        if self.moment.ending:
            return []
        return list(choices(self.chart, self._agents, self._state(), self.moment.active))

    def draft(self, choice: Choice) -> Any:
        """Return what is given with a choice unless something else is."""
        if choice.kind is Kind.WORK:
            return self._results.get(choice.at, choice.draft)
        if choice.kind is not Kind.REPLY:
            return choice.draft
        request = self._request(choice.agent)
        return self._draft(request) if self._draft and request else None

    def preview(self, choice: Choice, given: Any = None) -> Moment:
        """Return the moment to which a choice would lead. Raises `InvalidInput` like `choose`."""
        return self._play(self.moment, self._event(choice, given))

    def choose(self, choice: Choice, given: Any = None) -> Moment:
        """Let something come; what the walk had gone back from is forgotten.

        Args:
            choice: what comes.
            given: a reply's stub, or the event's data; by default the choice's draft.

        Raises:
            InvalidInput: what is given does not fit, or nothing accepts the event; names the field.
        """
        return self.take(self._event(choice, given))

    def take(self, event: Event, answers: tuple[bool, ...] | None = None) -> Moment:
        """Let an event come as it is, such as a recorded one.

        Args:
            event: the event with its data.
            answers: what guards are told to say, in the order in which they are asked; None asks memory.

        Raises:
            InvalidInput: nothing accepts the event, or the walk is too long.
        """
        if len(self._moments) >= MAX_MOMENTS:
            raise InvalidInput({'walk': f'has {MAX_MOMENTS:,} steps: begin another'})
        moment = self._play(self.moment, event, answers)
        self._moments = [*self._moments[: self._at + 1], moment]
        self._at += 1
        return moment

    def load(self, events: Sequence[PlayedEvent]) -> None:
        """Walk the way of a rehearsal to a state: guards say what they say there.

        Agents give their drafts. What the pattern's code makes of them may not fit what guards say: the
        guards of each moment tell both.
        """
        self.restart(events[0].answers if events else None)
        for played in events[1:]:
            known = {(choice.name, choice.at): choice for choice in reversed(self.choices())}
            choice, data = known.get((played.name, played.at)), Event(name=played.name)
            if choice:
                with suppress(InvalidInput):  # A witness says what happens, and not with which data.
                    data = self._event(choice, None)
            self.take(replace(data, name=played.name, at=played.at), played.answers)

    def follow(self, stubs: Mapping[str, Sequence[Any]]) -> str:
        """Walk on as a run with stubs would; returns why it does not know on, or '' once the run has ended.

        Tools and work without an agent are taken to succeed: what they give is not known.

        Raises:
            InvalidInput: a stub does not fit.
        """
        if self.moment.problems:
            return self.moment.problems[0]
        while not self.moment.ending:
            known = self._next_stub(stubs)
            if known is None:
                return f'no stub says what comes in {", ".join(self.moment.active)}'
            choice, given = known
            if (moment := self.choose(choice, given)).problems:
                self.back()
                return f'{choice.at}: {moment.problems[0]}'
        return ''

    def _next_stub(self, stubs: Mapping[str, Sequence[Any]]) -> tuple[Choice, Any] | None:
        for choice in self.choices():
            if choice.kind in (Kind.TOOLS, Kind.WORK) and choice.name == 'done':
                return choice, choice.draft
            if choice.kind is not Kind.REPLY:
                continue
            request = self._request(choice.agent, stubs)
            if request and request.hints.stubs:
                return choice, [stub_of(request)]
        return None

    def back(self) -> bool:
        """Go back a step; returns whether there was one."""
        return self.go(self._at - 1)

    def forward(self) -> bool:
        """Go forward a step that the walk has gone back from; returns whether there was one."""
        return self.go(self._at + 1)

    def go(self, at: int) -> bool:
        """Go to a moment of the walk; returns whether there is one of this number."""
        if not 0 <= at < len(self._moments):
            return False
        self._at = at
        return True

    @property
    def is_assumed(self) -> bool:
        """Whether some guard on the way here was told to say what it does not say on memory."""
        walked = self._moments[: self._at + 1]
        return any(
            guard.says is not guard.value for moment in walked if moment.told for guard in moment.guards
        )

    def stubs(self) -> dict[str, list[Any]]:
        """Return the replies of the walk up to here as stubs, with which a run goes the same way."""
        return visits_of(self._agents, self._moments[: self._at + 1])

    def _state(self) -> RunState:
        return RunState.load(self.pattern, self.moment.document)

    def _request(self, path: StatePath, stubs: Mapping[str, Sequence[Any]] = NO_STUBS) -> ModelRequest | None:
        """Return what an agent would ask its model; None if its task could not be made."""
        spec, agent = self._agents.specs[path], self._state().agents.get(path)
        if agent is None:
            return None
        hints = Hints(
            pattern=self.pattern.name,
            role=agent.role,
            state=path,
            task=self.pattern.task,
            visit=agent.visits,
            turn=agent.turns,
            stubs=stubs_for(stubs, path, agent.role),
        )
        return ModelRequest(
            model=SCRIPTED,
            messages=tuple(agent.messages),
            schema=schema_of(spec.output) if spec.output else None,
            hints=hints,
        )

    def _event(self, choice: Choice, given: Any) -> Event:
        given = self.draft(choice) if given is None else given
        event = event_of(choice, given, self._agents, self._state(), len(self._moments))
        ran = self.moment.event.ran + (choice.limit if choice.limit is not None else 1.0)
        return Event(name=event.name, at=event.at, data=event.data, ran=ran, time=self._now + ran)

    def _play(self, before: Moment, event: Event, answers: tuple[bool, ...] | None = None) -> Moment:
        try:
            state = RunState.load(self.pattern, before.document)
            microsteps, notes = self.chart.decide(before.active, state, event, answers)
        except (PatternError, ValidationError) as error:
            return Moment(
                event=event, active=(), document=before.document, ending='failed', reason=_reason(error)
            )
        reason = ''
        if not microsteps and event.name in ('failed', 'expired', EXHAUSTED):
            reason = str(event.data.get('error', '')) or f'{event.at} {event.name}'
        elif not microsteps and event.name not in ('done', 'asked'):
            unmet = [f'{guard.name} says {"yes" if guard.value else "no"}' for guard in notes.guards]
            raise InvalidInput({event.name: '; '.join(unmet) or 'no active state accepts it'})
        active = microsteps[-1].active if microsteps else before.active
        return Moment(
            event=event,
            microsteps=tuple(microsteps),
            guards=tuple(notes.guards),
            problems=tuple(notes.problems),
            active=() if reason else active,
            document=state.dump(),
            told=answers is not None,
            ending='failed' if reason else is_over(self.chart, active),
            reason=reason,
        )


def with_examples(pattern: type[Pattern], values: Mapping[str, Any]) -> Pattern:
    """Return a pattern with parameters; those that are required and missing have an example.

    Raises:
        InvalidInput: names each parameter that is wrong, or has no example.
    """
    required = {name: field for name, field in pattern.Parameters.model_fields.items() if field.is_required()}
    examples = {name: field.examples[0] for name, field in required.items() if field.examples}
    return pattern(pattern.parse({**examples, **values}))


def _reason(error: PatternError | ValidationError) -> str:
    return error.problem if isinstance(error, PatternError) else f'memory has become invalid: {error}'
