"""Shows a run for people: a line for each step and each line of streamed text, on standard error."""

from __future__ import annotations

import itertools
import textwrap

import typer
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from engine import (
    Delta,
    Fold,
    Outcome,
    RunInfo,
    StatePath,
    Status,
    Transition,
    Trouble,
    message_of,
    parent_of,
)
from ui.commands.showers import answer_text, ending
from ui.commands.wording import STYLES, UNBOUNDED, asked, console, moved, named, of_workflow, remark
from ui.plain import plain, short
from ui.presenters.reading import span

COLOURS = ('cyan', 'green', 'magenta', 'yellow', 'blue', 'bright_cyan')
NARROWEST, WIDEST = 30, 110


class Progress:
    """Steps and text as they come. Where standard error is a terminal, a line below says what goes on now."""

    def __init__(self) -> None:
        self._console = console(stderr=True)
        self._spinner = Spinner('dots')
        self._partial: dict[tuple[StatePath, str], str] = {}
        self._heard: set[str] = set()
        """Agents whose reply in flight has been shown."""
        self._colours: dict[str, str] = {}
        self._palette = itertools.cycle(COLOURS)
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
        """What runs, and under which id it is found again."""
        simulated = ' · simulated: no model is called' if info.simulated else ''
        self._say(f'{info.pattern}: {short(info.title, 100)}', style='bold')
        self._say(f'run {info.id}{simulated}', style='dim')
        if self._console.is_terminal:
            self._live.start()

    def step(self, transition: Transition, fold: Fold) -> None:
        """One line, and another for what is worth a remark."""
        self._fold = fold
        self._unheard(transition)
        self._flush(transition.event.at)
        elapsed = transition.time - fold.ledger.started
        line = Text(f'{elapsed:7.1f}s {transition.seq:4}  ')
        line.append(f'{named(transition):<30} ', style='dim')
        line.append(moved(transition), style='bold' if of_workflow(transition, fold.shape) else '')
        guards = asked(transition.guards) if of_workflow(transition, fold.shape) else []
        if guards:
            line.append(f'  [{", ".join(guards)}]', style='dim')
        self._console.print(line)
        said = remark(transition)
        if said:
            bad = transition.event.name in ('failed', 'expired', 'abort', 'retry')
            self._say(f'{"":15}{said}', style='red' if bad else 'dim')

    def piece(self, delta: Delta) -> None:
        """Whole lines at once; the rest waits for more."""
        if self._fold and not any(leaf.startswith(delta.path) for leaf in self._fold.ledger.active):
            return  # What was said before the steps that have been shown already.
        key = (delta.path, delta.kind)
        if delta.kind == 'reset':
            for kind in ('text', 'reasoning'):
                self._partial.pop((delta.path, kind), None)
            self._heard.discard(delta.path)
            return
        self._heard.add(delta.path)
        if (delta.path, 'reasoning') in self._partial and delta.kind == 'text':
            self._flush(delta.path)
        *lines, rest = self._wrapped(delta.path, self._partial.get(key, '') + plain(delta.text))
        for line in lines:
            self._console.print(self._speech(key, line))
        self._partial[key] = rest

    def trouble(self, trouble: Trouble) -> None:
        """That the run waits for the journal, or goes on."""
        self._say(f'{"":15}{trouble.problem or "the journal can be written again"}', style='red')

    def notice(self, text: str) -> None:
        """A line of the command's own."""
        self._say(f'{"":15}{text}', style='yellow')

    def stand(self, still: bool) -> None:
        """Take away what moves below the lines while a person types."""
        self._partial.clear()  # Nothing is under way: what is left came after its reply.
        if still:
            self._live.stop()
        elif self._console.is_terminal:
            self._live.start()

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """The answer on standard output, the rest on standard error."""
        self._flush()
        self._live.stop()
        view = fold.view
        if outcome.answer and outcome.status is Status.DONE:
            self._say('')
            typer.echo(answer_text(outcome.answer))
            self._say('')
        self._say(ending(outcome, fold), style=f'bold {STYLES[outcome.status]}')
        self._say(
            f'{span(view.time - view.started)}, {view.seq} steps, {view.usage.total:,} tokens'
            f' in {view.usage.calls} calls; `hemicycle show {outcome.run}` tells what happened',
            style='dim',
        )

    def _now(self) -> Group:
        """What stands below the lines in a terminal. Called in a thread of its own."""
        parts = [self._speech(key, rest) for key, rest in list(self._partial.items()) if rest.strip()]
        if self._fold:
            view = self._fold.view
            doing = ', '.join(view.active) or str(view.status)
            self._spinner.update(
                text=Text(f'{doing} · {view.usage.total:,} tokens', style='dim', no_wrap=True)
            )
        return Group(*parts, self._spinner)

    def _unheard(self, transition: Transition) -> None:
        """A reply that came faster than it could be watched."""
        path = parent_of(transition.event.at)
        message = transition.event.data.get('message')
        if transition.raised or message is None:
            return
        text = plain(message_of(message).text)
        if text and path not in self._heard:
            for line in self._wrapped(path, text):
                self._console.print(self._speech((path, 'text'), line))
        self._heard.discard(path)

    def _flush(self, at: str = '') -> None:
        """Print the beginnings of lines of whoever has finished: the addressed agent, or all."""
        for key in list(self._partial):
            if not at or key[0] == at or at.startswith(f'{key[0]}.'):
                rest = self._partial.pop(key)
                if rest.strip():
                    self._console.print(self._speech(key, rest))

    def _wrapped(self, path: str, text: str) -> list[str]:
        """The text in lines; the last one may go on."""
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

    def _say(self, line: str, style: str = '') -> None:
        self._console.print(Text(plain(line), style=style))
