"""scripted: needs no key and no network; it plays scenarios, and improvises where it knows none."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path

import httpx

from engine.budgets.estimate import estimated
from engine.catalog import Fault
from engine.message import Text, ToolResult
from engine.model import (
    ArgumentPiece,
    CallStarted,
    Completed,
    ModelEvent,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    Thinking,
    Timeouts,
)
from engine.records import SOURCES, Usage
from engine.scripted.improvise import improvise
from engine.scripted.library import Library, shipped
from engine.scripted.scenario import Turn
from engine.wire import client
from engine.wire.endpoint import Endpoint
from engine.wire.played import played

PACE = 80.0
"""Pieces a second, where nothing else is set: about as fast as a large model writes."""
SETTING = 'HEMICYCLE_PACE'
SHORTEST_WAIT = 0.01
"""Seconds; shorter waits are put together, since a timer is no finer than this."""
PIECES_A_TURN = 16
"""How many pieces go out before others get the event loop; with no pace to keep they go as one."""
ENDPOINT = Endpoint(name='', url='http://scripted.invalid/v1')
"""Nobody is there: its name is never looked up."""
PATIENT = Timeouts(first=1e9, idle=1e9, total=1e9)
"""However slow a pace somebody wants to see."""


class Scripted:
    """Plays its part: the same request gives the same events.

    Args:
        pace: pieces a second; 0 is as fast as can be; `HEMICYCLE_PACE`, or 80, by default.
        folder: where the scenarios are; those that come with Hemicycle by default.
    """

    name = 'scripted'
    simulated = True

    def __init__(self, pace: float | None = None, folder: Path | None = None) -> None:
        self._library = Library.load(folder) if folder else shipped()
        set_pace, faults = _setting()
        self.pace = set_pace if pace is None else pace
        self.faults: tuple[Fault, ...] = (*faults, *self._library.faults)
        """What is wrong with scenario files and settings; everything else plays."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer piece by piece. Raises `ModelError` where the scenario says so.

        What it says goes through the same client as a provider's answer, as bytes over its own transport.
        """
        hints = request.hints
        turn = self._turn(request)
        chance = random.Random(
            f'{hints.seed}:{hints.task}:{hints.role}:{hints.state}:{hints.visit}:{hints.turn}'
        )
        if turn.seconds:
            yield Thinking(seconds=turn.seconds)
        events = list(_events(turn, chance))
        failure = turn.failure(hints.attempt)
        if failure:
            events = events[: failure.after]
        if not self.pace:
            events = list(_lumps(events))
        if not failure:
            events.append(Completed(reason='tools' if turn.calls else 'stop', usage=_usage(request, events)))
        transport = played(self.name, events, _Pace(self.pace).beat, failure.error() if failure else None)
        patient = replace(request, timeouts=PATIENT)
        async with (
            httpx.AsyncClient(transport=transport, trust_env=False) as http,
            aclosing(client.call(http, ENDPOINT, self.name, patient)) as answer,
        ):
            async for event in answer:
                yield event

    def _turn(self, request: ModelRequest) -> Turn:
        hints = request.hints
        scenario = self._library.find(hints.pattern, hints.task)
        known = scenario.turn(hints.state, hints.role, hints.visit, hints.turn) if scenario else None
        return known.for_news(_news(request)) if known else improvise(request)


class _Pace:
    """Waits between pieces."""

    def __init__(self, pace: float) -> None:
        self._seconds = 1 / pace if pace > 0 else 0.0
        self._owed = 0.0
        self._count = 0

    async def beat(self) -> None:
        self._owed += self._seconds
        self._count += 1
        if self._owed >= SHORTEST_WAIT:
            await asyncio.sleep(self._owed)
            self._owed = 0.0
        elif not self._seconds or self._count % PIECES_A_TURN == 0:
            await asyncio.sleep(0)


def _events(turn: Turn, chance: random.Random) -> Iterator[ModelEvent]:
    for piece in _pieces(turn.reasoning, chance):
        yield ReasoningPiece(text=piece)
    text = turn.text if turn.answer is None else json.dumps(turn.answer, ensure_ascii=False, indent=2)
    for piece in _pieces(text, chance):
        yield TextPiece(text=piece)
    for index, call in enumerate(turn.calls):
        yield CallStarted(index=index, name=call.tool)
        for piece in _pieces(json.dumps(call.arguments, ensure_ascii=False), chance):
            yield ArgumentPiece(index=index, text=piece)


def _lumps(events: list[ModelEvent]) -> Iterator[ModelEvent]:
    """The same with fewer pieces: nobody reads along."""
    for _, alike in groupby(events, key=lambda event: (type(event), getattr(event, 'index', 0))):
        while some := list(islice(alike, PIECES_A_TURN)):
            first = some[0]
            if isinstance(first, TextPiece | ReasoningPiece | ArgumentPiece):
                yield replace(first, text=''.join(piece.text for piece in some))  # type: ignore[union-attr]
            else:
                yield from some


def _pieces(text: str, chance: random.Random) -> Iterator[str]:
    """Words with the space before them, long ones in parts, as a tokenizer cuts them."""
    for word in re.findall(r'\s*\S+|\s+', text):
        rest = word
        while len(rest) > 8:
            cut = chance.randint(3, 7)
            yield rest[:cut]
            rest = rest[cut:]
        yield rest


def _news(request: ModelRequest) -> str:
    """What the model was told since its last reply."""
    told: list[str] = []
    for message in reversed(request.messages):
        if message.role == 'assistant':
            break
        told += [part.text for part in reversed(message.parts) if isinstance(part, Text | ToolResult)]
    return '\n'.join(reversed(told))


def _usage(request: ModelRequest, events: list[ModelEvent]) -> Usage:
    said = sum(
        len(event.text) for event in events if isinstance(event, TextPiece | ReasoningPiece | ArgumentPiece)
    )
    return replace(estimated(request, said), source=SOURCES[0])  # It is the provider, and says so.


def _setting() -> tuple[float, tuple[Fault, ...]]:
    """The pace that the environment asks for; one that is no number is a fault, not the end of the model."""
    said = os.environ.get(SETTING, '').strip()
    if not said:
        return PACE, ()
    if re.fullmatch(r'\d+(\.\d+)?', said):
        return float(said), ()
    problem = f'must be a number of pieces a second, 0 or more, not {said!r}; {PACE:g} is used'
    return PACE, (Fault(path=SETTING, line=0, problem=problem),)
