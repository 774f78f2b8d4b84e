"""The scripted model: needs no key and no network; plays scenarios, and improvises without one."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import httpx

from engine.errors import Fault
from engine.models.endpoint import Endpoint
from engine.models.http import client
from engine.models.http.fake_server import FakeServer
from engine.models.prepared_replies import Turn, unseen_text
from engine.models.protocol import (
    SCRIPTED,
    ArgumentPiece,
    CallStarted,
    Completed,
    Hints,
    ModelEvent,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    Thinking,
    Timeouts,
)
from engine.models.scripted.fallback_answers import improvise
from engine.models.scripted.library import Library, bundled_scenarios
from engine.models.scripted.scenario import Scenario
from engine.models.stubs import stub_of
from engine.models.usage_estimate import estimate_usage
from engine.records import SOURCES, Usage
from engine.records.frozen import evolve

PACE = 80.0
"""Default pace in pieces per second, about that of a large model."""
SETTING = 'HEMICYCLE_PACE'
MIN_WAIT = 0.01
"""Seconds; shorter waits are merged, since timers are no more precise."""
PIECES_A_TURN = 16
"""Pieces sent before yielding to the event loop."""
LAST = 1_000
"""A turn that no visit has: the last one stands for it."""
SLICE = 400
"""Characters of a piece if there is no pace."""
ENDPOINT = Endpoint(name='', url='http://scripted.invalid/v1')
"""A placeholder: its name is never resolved."""
PATIENT = Timeouts(first=1e9, idle=1e9, total=1e9)
"""Allows any pace, however slow."""


class Scripted:
    """The scripted model: the same request gives the same events.

    Args:
        pace: pieces per second; 0 means no delay; defaults to `HEMICYCLE_PACE`, or 80.
        folder: the scenario folder; defaults to the scenarios bundled with Hemicycle.
    """

    name = SCRIPTED
    simulated = True

    def __init__(self, pace: float | None = None, folder: Path | None = None) -> None:
        self._library = Library.load(folder) if folder else bundled_scenarios()
        self._find = lru_cache(maxsize=100)(self._library.find)
        set_pace, faults = _setting()
        self.pace = set_pace if pace is None else pace
        self._http = httpx.AsyncClient(transport=httpx.AsyncBaseTransport(), trust_env=False)
        """Makes the requests, and sends none."""
        self.faults: tuple[Fault, ...] = (*faults, *self._library.faults)
        """Errors in scenario files and settings; everything else works."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Stream the answer. Raises `ModelError` if the scenario says so.

        The answer goes through the same client as a provider's, as the bytes of a fake server.
        """
        turn = self._turn(request)
        if turn.seconds:
            yield Thinking(seconds=turn.seconds)
        failure = turn.failure(request.hints.attempt)
        # A failure is placed by counting tokens. Otherwise, without a pace, nobody watches the text arrive.
        pieces = _events(turn, _tokenizer(request.hints) if self.pace or failure else _slices)
        events = list(islice(pieces, failure.after if failure else None))
        if not failure:
            events.append(Completed(reason='tools' if turn.calls else 'stop', usage=_usage(request, events)))
        server = FakeServer(
            model=self.name,
            events=events,
            beat=_Pace(self.pace).beat,
            failure=failure.error() if failure else None,
            carrier=request.carrier,
        )
        sent = evolve(request, timeouts=PATIENT, carrier=server)
        async with aclosing(client.call(self._http, ENDPOINT, self.name, sent)) as answer:
            async for event in answer:
                yield event

    def _turn(self, request: ModelRequest) -> Turn:
        if request.hints.stubs:
            return stub_of(request)
        return reply_to(request, self._find(request.hints.pattern, request.hints.task))


def reply_to(request: ModelRequest, scenario: Scenario | None) -> Turn:
    """Return what a scenario says, or an improvised reply."""
    hints = request.hints
    turn = scenario.turn(hints.state, hints.role, hints.visit, hints.turn) if scenario else None
    return turn.select_case(unseen_text(request.messages)) if turn else improvise(request)


def draft_stub(request: ModelRequest) -> Any:
    """Return what the scripted model says at the end of a visit, as a stub; None if it would not answer."""
    hints = evolve(request.hints, turn=LAST)
    scenario = bundled_scenarios().find(hints.pattern, hints.task)
    turn = reply_to(evolve(request, hints=hints), scenario)
    if turn.calls or not turn.said:
        return None
    return turn.text if turn.answer is None else turn.answer


class _Pace:
    """Waits between pieces."""

    def __init__(self, pace: float) -> None:
        self._seconds = 1 / pace if pace > 0 else 0.0
        self._unslept = 0.0
        self._count = 0

    async def beat(self) -> None:
        self._unslept += self._seconds
        self._count += 1
        if self._unslept >= MIN_WAIT:
            await asyncio.sleep(self._unslept)
            self._unslept = 0.0
        elif not self._seconds or self._count % PIECES_A_TURN == 0:
            await asyncio.sleep(0)


def _events(turn: Turn, split: Callable[[str], Iterable[str]]) -> Iterator[ModelEvent]:
    for piece in split(turn.reasoning):
        yield ReasoningPiece(text=piece)
    for piece in split(turn.said):
        yield TextPiece(text=piece)
    for index, call in enumerate(turn.calls):
        yield CallStarted(index=index, name=call.tool)
        for piece in split(json.dumps(call.arguments, ensure_ascii=False)):
            yield ArgumentPiece(index=index, text=piece)


def _tokenizer(hints: Hints) -> Callable[[str], Iterable[str]]:
    chance = random.Random(f'{hints.seed}:{hints.task}:{hints.role}:{hints.state}:{hints.visit}:{hints.turn}')
    return partial(_tokens, chance=chance)


def _slices(text: str) -> Iterator[str]:
    return (text[start : start + SLICE] for start in range(0, len(text), SLICE))


def _tokens(text: str, chance: random.Random) -> Iterator[str]:
    """Yield words with their leading space, long ones split, as a tokenizer would."""
    for word in re.findall(r'\s*\S+|\s+', text):
        rest = word
        while len(rest) > 8:
            cut = chance.randint(3, 7)
            yield rest[:cut]
            rest = rest[cut:]
        yield rest


def _usage(request: ModelRequest, events: list[ModelEvent]) -> Usage:
    output = sum(
        len(event.text) for event in events if isinstance(event, TextPiece | ReasoningPiece | ArgumentPiece)
    )
    return evolve(estimate_usage(request, output), source=SOURCES[0])  # The provider itself reports it.


def _setting() -> tuple[float, tuple[Fault, ...]]:
    """Return the environment's pace; an invalid value is recorded as a fault, and the model still loads."""
    setting = os.environ.get(SETTING, '').strip()
    if not setting:
        return PACE, ()
    if re.fullmatch(r'\d+(\.\d+)?', setting):
        return float(setting), ()
    problem = f'must be a number of pieces a second, 0 or more, not {setting!r}; {PACE:g} is used'
    return PACE, (Fault(path=SETTING, line=0, problem=problem),)
