"""Usage of a turn: as the agent reports it at the end, or estimated if it reports none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from acp import schema

from engine.models.usage_estimate import CHARACTERS_A_TOKEN
from engine.records import Usage

ESTIMATED = 'estimated'


class TurnUsage:
    """Splits a turn's usage over its journaled replies, so that they add up to what the agent reports."""

    def __init__(self, *, reports: bool = False) -> None:
        self.reports = reports
        """Whether the agent reports whole turns; others report nothing, or only the last call."""
        self._estimated = Usage()
        """Estimates journaled for the turn so far."""
        self._lost = False

    def begin(self) -> None:
        """Forget the estimates of the last turn."""
        self._estimated = Usage()

    def restart(self) -> None:
        """Begin the turn again after an interruption: the lost part is known only by estimates."""
        self._lost = True

    def count(
        self, prompt_length: int, reply_length: int, reported: Usage | None, *, ended: bool
    ) -> tuple[Usage, bool]:
        """Return the usage to journal with a reply, and whether it settles the estimates of its turn.

        Args:
            prompt_length: characters sent to the agent for it.
            reply_length: characters of the reply.
            reported: the agent's report of the whole turn.
            ended: whether the turn is over.
        """
        if reported is None:
            estimated = estimate(prompt_length, reply_length, calls=int(ended))
            self._estimated += estimated
            return estimated, False
        fits = self._estimated.input <= reported.input and self._estimated.output <= reported.output
        return _beyond(reported, self._estimated), self.reports and fits and not self._lost


def estimate(prompt_length: int, reply_length: int, *, calls: int) -> Usage:
    """Estimate usage from numbers of characters."""
    return Usage(
        input=-(-prompt_length // CHARACTERS_A_TOKEN),
        output=-(-reply_length // CHARACTERS_A_TOKEN),
        calls=calls,
        source=ESTIMATED,
    )


def reported_usage(response: schema.PromptResponse) -> Usage | None:
    """Return the usage that an agent reports at the end of a turn, if any."""
    if (usage := response.usage) is not None:
        cached, written = usage.cached_read_tokens or 0, usage.cached_write_tokens or 0
        input, thought = usage.input_tokens + cached + written, usage.thought_tokens or 0
        # Codex includes thinking in the output, as its total shows.
        extra = thought if usage.total_tokens != input + usage.output_tokens else 0
        return Usage(
            input=input,
            output=usage.output_tokens + extra,
            calls=1,
            cached=cached,
            written=written,
            reasoning=thought,
        )
    # Gemini reports usage in a field of its own.
    quota = (response.field_meta or {}).get('quota')
    counts = quota.get('token_count') if isinstance(quota, Mapping) else None
    if not isinstance(counts, Mapping):
        return None
    tokens = [_tokens(counts.get(f'{direction}_tokens')) for direction in ('input', 'output')]
    return Usage(input=tokens[0], output=tokens[1], calls=1) if any(tokens) else None


def _tokens(count: Any) -> int:
    return count if isinstance(count, int) and count > 0 else 0


def _beyond(reported: Usage, estimated: Usage) -> Usage:
    """Return a report without the part that has already been journaled as estimated."""
    left = {name: max(0, getattr(reported, name) - getattr(estimated, name)) for name in ('input', 'output')}
    return replace(reported, **left)
