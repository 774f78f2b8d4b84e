"""Reporters show a run in progress: for people, as JSON lines, or only its result."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import typer
from pydantic_core import from_json
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text
from typing_extensions import override

from engine import Transition
from engine.journal import Fold
from engine.records import Delta, JournalOutage, Outcome, RunInfo, StatePath, message_of, parent_of, reply_of
from ui.app.colours import FAILED, style_of
from ui.cli.output.errors import print_error
from ui.cli.output.run_report import compared_modes
from ui.cli.output.step_text import (
    UNBOUNDED,
    console,
    step_line,
)
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.steps import active_text, duration
from ui.formatting.usage import usage_headline
from ui.formatting.values import count, origin_note, status_text


class Reporter:
    """Shows what happens to a run; this one shows nothing."""

    def begin(self, info: RunInfo) -> None:
        """Called before anything else."""

    def step(self, transition: Transition, fold: Fold) -> None:
        """Show a step; `fold` already includes it."""

    def piece(self, delta: Delta) -> None:
        """Show a piece of streamed text."""

    def outage(self, outage: JournalOutage) -> None:
        """Show that the run cannot be journaled at the moment, or can again."""

    def notice(self, text: str) -> None:
        """Show a message from the command itself."""

    def hold_display(self, is_held: bool) -> None:
        """Stop updating the screen while a person types, or start again."""

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """Show how the run ended, or its status if it has not."""


class QuietReporter(Reporter):
    """Shows the answer on standard output, and problems on standard error."""

    def outage(self, outage: JournalOutage) -> None:
        """Show why the run cannot be journaled."""
        if outage.problem:
            print_error(outage.problem)

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """Show the answer, or why there is none."""
        if outcome.answer:
            typer.echo(answer_of(outcome, fold))
            if note := origin_note(fold.view):
                console(stderr=True).print(note, style='dim')
        if outcome.status != 'done' or outcome.error:
            print_error(outcome_sentence(outcome, fold))


class JsonReporter(QuietReporter):
    """Shows each transition as one JSON object on a line, then the outcome."""

    def step(self, transition: Transition, fold: Fold) -> None:
        """Print one line immediately."""
        print_json(type='transition', **asdict(transition))

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """Print the last line."""
        view = fold.view
        print_json(
            type='outcome',
            **asdict(outcome),
            seq=view.seq,
            usage=asdict(view.usage),
            waiting=view.waiting,
            origins=list(view.origins),
        )


def print_json(**values: Any) -> None:
    """Print an object as one ASCII line, which survives any terminal or pipe, even with lone surrogates."""
    typer.echo(json.dumps(values))


def answer_of(outcome: Outcome, fold: Fold) -> str:
    """Return a run's result as text; of a comparison of modes, both results with their figures."""
    return '\n\n'.join(compared_modes(fold.shape, fold.view)) or answer_text(outcome.answer)


def answer_text(answer: Any) -> str:
    """Return a run's result as text."""
    return strip_control(
        answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False)
    )


def outcome_sentence(outcome: Outcome, fold: Fold) -> str:
    """Return a sentence on how a run ended, or why it has not."""
    reason = f': {outcome.error}' if outcome.error else ''
    match outcome.status:
        case 'done' if outcome.error:
            return f'run {outcome.run} is done with issues{reason}'
        case 'done' | 'failed' | 'cancelled':
            return f'run {outcome.run} {"is " * (outcome.status != "failed")}{outcome.status}{reason}'
        case 'waiting':
            return (
                f'run {outcome.run} is waiting for a person: {fold.view.waiting}{reason.rstrip(".")};'
                f' `hemicycle send {outcome.run}` shows what it accepts'
            )
        case 'paused':
            view = fold.view
            held_texts = '; '.join(f'{path} is held{why and f": {why}"}' for path, why in view.held.items())
            why = view.stopped or held_texts
            return (
                f'run {outcome.run} is paused at step {view.seq} in {", ".join(view.active)}'
                f'{why and f" ({why})"}; `hemicycle resume {outcome.run}` or `hemicycle step {outcome.run}`'
                ' continues it'
            )
    again = f'`hemicycle resume {outcome.run}` continues it'
    return f'run {outcome.run} was released at step {fold.view.seq}; {again}'


SPEAKERS = ('dark_sea_green2', 'light_pink3', 'light_slate_blue', 'tan', 'cadet_blue', 'thistle3')
"""Colours of the agents' names; those of statuses would say more than who speaks."""
NARROWEST, WIDEST = 30, 110


class ProgressReporter(Reporter):
    """Shows steps and text as they come; in a terminal, a line below shows the current activity."""

    def __init__(self) -> None:
        self._console = console(stderr=True)
        self._spinner = Spinner('dots')
        self._partial: dict[tuple[StatePath, str], str] = {}
        self._documents: dict[StatePath, tuple[str, int]] = {}
        """By agent, the JSON it writes and how much of its text is shown; -1 if it writes plain text."""
        self._streamed: set[str] = set()
        """Agents whose current reply has been shown."""
        self._colours: dict[str, str] = {}
        self._palette = itertools.cycle(SPEAKERS)
        self._fold: Fold | None = None
        self._live = Live(
            console=self._console,
            get_renderable=self._now,
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def begin(self, info: RunInfo) -> None:
        """Show what is running, and its id."""
        simulated = ' · simulated: no model is called' if info.simulated else ''
        self._print(f'{info.pattern}: {one_line(info.title, 100)}', style='bold')
        self._print(f'run {info.id}{simulated}', style='dim')
        if self._console.is_terminal:
            self._live.start()

    def step(self, transition: Transition, fold: Fold) -> None:
        """Show a line for the step."""
        self._fold = fold
        self._show_unstreamed(transition)
        self._flush(transition.event.at)
        self._documents.pop(parent_of(transition.event.at), None)
        self._console.print(step_line(transition, fold.shape, fold.projection.started))

    def piece(self, delta: Delta) -> None:
        """Show complete lines immediately; the rest waits for more text."""
        if self._fold and not any(leaf.startswith(delta.path) for leaf in self._fold.projection.active):
            return  # Text from before the steps that have already been shown.
        key = (delta.path, delta.kind)
        if delta.kind == 'call':
            self._flush(delta.path)
            self._documents.pop(delta.path, None)
            self._print(f'{"":15}{delta.path} │ calls {one_line(delta.text)}', style='dim')
            return
        if delta.kind == 'waiting':
            if delta.text:
                self._print(f'{"":15}{delta.path}: {delta.text}', style='dim')
            return
        if delta.kind == 'reset':
            for kind in ('text', 'reasoning', 'arguments'):
                self._partial.pop((delta.path, kind), None)
            self._documents.pop(delta.path, None)
            self._streamed.discard(delta.path)
            return
        text = self._decode(delta)
        if delta.kind != 'arguments':
            self._streamed.add(delta.path)
        if (delta.path, 'reasoning') in self._partial and delta.kind == 'text':
            self._flush(delta.path)
        *lines, rest = self._wrap(delta.path, self._partial.get(key, '') + strip_control(text))
        for line in lines:
            self._console.print(self._speech(key, line))
        self._partial[key] = rest

    def _decode(self, delta: Delta) -> str:
        """Return the readable text that a piece adds: tool arguments and structured answers come as JSON."""
        if delta.kind == 'reasoning':
            return delta.text
        begun, shown_length = self._documents.get(delta.path, ('', 0))
        if shown_length < 0 or not (begun or delta.text.lstrip().startswith('{')):
            self._documents[delta.path] = ('', -1)
            return delta.text
        begun += delta.text
        text = readable(begun)
        if text is None:
            self._documents[delta.path] = ('', -1)
            return '' if shown_length else begun
        self._documents[delta.path] = (begun, len(text))
        return text[shown_length:]

    def outage(self, outage: JournalOutage) -> None:
        """Show that the run waits for the journal, or continues."""
        self._print(f'{"":15}{outage.problem or "the journal can be written again"}', style=FAILED)

    @override
    def notice(self, text: str) -> None:
        self._print(f'{"":15}{text}', style='bold')

    def hold_display(self, is_held: bool) -> None:
        """Hide the live line while a person types."""
        self._partial.clear()  # Nothing is in progress: any remaining text arrived after its reply.
        if is_held:
            self._live.stop()
        elif self._console.is_terminal:
            self._live.start()

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """Print the answer on standard output, the rest on standard error."""
        self._flush()
        self._live.stop()
        view = fold.view
        if outcome.answer and (outcome.status.ended or outcome.status == 'waiting'):
            self._print('')
            typer.echo(answer_of(outcome, fold))
            self._print('')
            if note := origin_note(view):
                self._print(note, style='dim')
        plan = fold.shape.field('plan')
        if outcome.status == 'done' and plan and not view.memory.get(plan):
            self._print('the plan is empty: no steps were planned')
        self._print(outcome_sentence(outcome, fold), style=f'bold {style_of(outcome.status, outcome.error)}')
        self._print(
            f'{duration(view.time - view.started)} · {count(view.seq, "step")} ·'
            f' {usage_headline(view.usage)}; `hemicycle show {outcome.run}` shows what happened',
            style='dim',
        )

    def _now(self) -> Group:
        """Return the bottom line in a terminal. Called in a separate thread."""
        parts = [self._speech(key, rest) for key, rest in list(self._partial.items()) if rest.strip()]
        if self._fold:
            view = self._fold.view
            doing = active_text(view.active) or status_text(view.status).lower()
            self._spinner.update(
                text=Text(f'{doing} · {usage_headline(view.usage)}', style='dim', no_wrap=True)
            )
        return Group(*parts, self._spinner)

    def _show_unstreamed(self, transition: Transition) -> None:
        """Show a reply that arrived too fast to be streamed."""
        path = parent_of(transition.event.at)
        reply = reply_of(transition.event)
        if reply is None:
            return
        text = strip_control(message_of(reply['message']).text)
        if text and path not in self._streamed:
            for line in self._wrap(path, text):
                self._console.print(self._speech((path, 'text'), line))
        self._streamed.discard(path)

    def _flush(self, at: str = '') -> None:
        """Print the incomplete lines of the addressed agent, or of all."""
        for key in list(self._partial):
            if not at or key[0] == at or at.startswith(f'{key[0]}.'):
                rest = self._partial.pop(key)
                if rest.strip():
                    self._console.print(self._speech(key, rest))

    def _wrap(self, path: str, text: str) -> list[str]:
        """Wrap text into lines; the last one may still grow."""
        room = min(self._console.width, WIDEST if self._console.width < UNBOUNDED else UNBOUNDED)
        width = max(NARROWEST, room - len(path) - 18)
        lines: list[str] = []
        for line in text.split('\n'):
            lines.extend(textwrap.wrap(line, width, drop_whitespace=False, replace_whitespace=False) or [''])
        return lines

    def _speech(self, key: tuple[StatePath, str], line: str) -> Text:
        path, kind = key
        if path not in self._colours:
            self._colours[path] = next(self._palette)
        text = Text(f'{"":15}', no_wrap=True, overflow='ellipsis')
        text.append(f'{path} │ ', style=self._colours[path])
        return text.append(line.rstrip(), style='dim italic' if kind == 'reasoning' else '')

    def _print(self, line: str, style: str = '') -> None:
        self._console.print(Text(strip_control(line), style=style))


def readable(text: str) -> str | None:
    """Return the beginning of a JSON document as text: a line for each value, after its name.

    More of the document only appends to the result. None if the text is not JSON.
    """
    try:
        return '\n'.join(_lines(from_json(text, allow_partial='trailing-strings')))
    except ValueError:
        return None


def _lines(value: Any, name: str = '') -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f'{key.replace("_", " ")}: ')
    elif isinstance(value, list):
        for inner in value:
            yield from _lines(inner, '- ')
    elif isinstance(value, bool):
        yield f'{name}{"yes" if value else "no"}'
    else:
        yield f'{name}{"none" if value is None else value}'
