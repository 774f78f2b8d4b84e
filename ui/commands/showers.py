"""Shows a run for programs: as JSON lines, or nothing but its answer."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import typer

from engine import Delta, Fold, Outcome, RunInfo, Transition, Trouble
from ui.commands.exits import complain
from ui.plain import plain


class Quiet:
    """Shows the answer on standard output, and what went wrong on standard error."""

    def begin(self, info: RunInfo) -> None:
        """Nothing."""

    def step(self, transition: Transition, fold: Fold) -> None:
        """Nothing."""

    def piece(self, delta: Delta) -> None:
        """Nothing."""

    def trouble(self, trouble: Trouble) -> None:
        """What stops the run from being journaled."""
        if trouble.problem:
            complain(trouble.problem)

    def notice(self, text: str) -> None:
        """Nothing."""

    def stand(self, still: bool) -> None:
        """Nothing."""

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """The answer, or why there is none."""
        if outcome.answer:
            typer.echo(answer_text(outcome.answer))
        if outcome.status != 'done':
            complain(ending(outcome, fold))


class JsonLines(Quiet):
    """Shows each transition as one JSON object on a line, then the outcome."""

    def step(self, transition: Transition, fold: Fold) -> None:
        """One line, at once."""
        json_line(type='transition', **asdict(transition))

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """The last line."""
        view = fold.view
        json_line(
            type='outcome', **asdict(outcome), seq=view.seq, usage=asdict(view.usage), waiting=view.waiting
        )


def json_line(**values: Any) -> None:
    """Print an object on a line, in ASCII: it survives every terminal, pipe and half of a surrogate pair."""
    typer.echo(json.dumps(values))


def answer_text(answer: Any) -> str:
    """A run's result, as text."""
    return plain(answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False))


def ending(outcome: Outcome, fold: Fold) -> str:
    """One sentence about how a run ended, or that it did not."""
    reason = f': {outcome.error}' if outcome.error else ''
    match outcome.status:
        case 'done' | 'failed' | 'cancelled':
            return f'run {outcome.run} {"is " * (outcome.status != "failed")}{outcome.status}{reason}'
        case 'waiting':
            return (
                f'run {outcome.run} waits for a person: {fold.view.waiting}; answer in the dashboard'
                ' (`hemicycle serve`)'
            )
        case 'paused':
            view = fold.view
            held = '; '.join(f'{path} is held{why and f": {why}"}' for path, why in view.held.items())
            why = view.stopped or held
            return (
                f'run {outcome.run} is paused at step {view.seq} in {", ".join(view.active)}'
                f'{why and f" ({why})"}; `hemicycle resume {outcome.run}` or `hemicycle step {outcome.run}`'
                ' goes on with it'
            )
    again = f'`hemicycle resume {outcome.run}` goes on with it'
    return f'run {outcome.run} is let go of at step {fold.view.seq}; {again}'
