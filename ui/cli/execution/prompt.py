"""The prompt that controls a paused run in the terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine import Conductor, EngineError
from engine.journal import Fold, StepMode
from ui.cli.execution.breakpoints import format_breakpoint, parse_breakpoint, update_breakpoints
from ui.cli.execution.follow import Ask
from ui.cli.output.reporters import Reporter
from ui.formatting.plain_text import strip_control

HELP = """in [STATE]         the next piece of work, and no more (also: i, or Enter)
over [STATE]       until the workflow itself moves, or an agent ends (o)
out [STATE]        until the agent, or its parent state, ends (u)
continue [STATE]   continue; with a state, only its region (c)
pause STATE        pause its region (p)
break WHERE        enter STATE, leave STATE, edge A>B and/or when CONDITION; prefixes: once, region (b)
delete N           a breakpoint, or all (d)
list               breakpoints and paused regions (l)
quit               release the run; `hemicycle step` or `hemicycle resume` continues it (q)"""
SHORT = {
    '': 'in', 'i': 'in', 'o': 'over', 'u': 'out', 'c': 'continue', 'p': 'pause', 'b': 'break', 'd': 'delete',
    'l': 'list', 'q': 'quit', 'h': 'help', '?': 'help', 's': 'in', 'step': 'in', 'resume': 'continue',
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompt:
    """Reads what a person types, and controls the run accordingly.

    Attributes:
        read_line: returns the next line; '' at the end of input (an empty line is a line feed).
        show: shows a line.
    """

    read_line: Callable[[], Awaitable[str]]
    show: Callable[[str], object]

    async def __call__(self, conductor: Conductor, fold: Fold) -> bool:
        """Ask until the run is to continue (True) or to be released (False)."""
        view = fold.view
        why = view.stopped and f': {view.stopped}'
        self.show(strip_control(f'paused at step {view.seq} in {", ".join(view.active)}{why}'))
        while True:
            self.show('in, over, out, continue, pause, break, delete, list, quit; `help` explains')
            typed = await self.read_line()
            if not typed:
                return False
            word, _, rest = typed.strip().partition(' ')
            name = SHORT.get(word, word)
            if name == 'quit':
                return False
            try:
                if await self._execute(conductor, fold, name, rest.strip()):
                    return True
            except EngineError as error:
                self.show(strip_control(str(error)))

    async def _execute(self, conductor: Conductor, fold: Fold, name: str, rest: str) -> bool:
        """Execute a command; returns whether the run continues."""
        run = fold.run
        hows: dict[str, StepMode] = {'in': 'in', 'over': 'over', 'out': 'out'}
        match name:
            case 'in' | 'over' | 'out':
                await conductor.step(run, hows[name], rest)
                return True
            case 'continue':
                await conductor.resume(run, rest)
                return True
            case 'pause':
                await conductor.pause(run, rest)
            case 'break':
                for item in await update_breakpoints(conductor, run, parse_breakpoint(rest), ()):
                    self.show(format_breakpoint(item))
            case 'delete':
                for item in await update_breakpoints(conductor, run, None, [rest]):
                    self.show(format_breakpoint(item))
            case 'list':
                view = await conductor.view(run)
                lines = [*map(format_breakpoint, view.breakpoints), *(f'held: {path}' for path in view.held)]
                self.show('\n'.join(lines) or 'no breakpoints')
            case 'help':
                self.show(HELP)
            case _:
                self.show(f'there is no {name!r}')
        return False


def prompt_for(reporter: Reporter) -> Ask | None:
    """Return the prompt for the person at the terminal; None if there is no terminal."""
    return Prompt(typed_line, reporter.notice) if sys.stdin.isatty() and sys.stderr.isatty() else None


async def typed_line() -> str:
    """Return the next line of standard input; uses no thread, so that waiting can be cancelled."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin, ready.set)
    try:
        await ready.wait()
        return sys.stdin.readline()
    finally:
        loop.remove_reader(sys.stdin)
