"""Asks in the terminal how a paused run goes on, while it stands still."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine import Conductor, EngineError, Fold, How
from ui.commands.breakpoints import breakpoint_of, changed, line_of
from ui.commands.watching import Ask, Shower
from ui.plain import plain

HELP = """in [STATE]         the next piece of work, and no more (also: i, or Enter)
over [STATE]       until the workflow itself moves, or an agent ends (o)
out [STATE]        until the agent, or the state around what is active, ends (u)
continue [STATE]   go on; with a state, only the region that it is in (c)
pause STATE        hold the region that it is in (p)
break WHERE        enter STATE, leave STATE, edge A>B and/or when CONDITION; before it: once, region (b)
delete N           a breakpoint, or all (d)
list               breakpoints, and what is held (l)
quit               let go of the run; `hemicycle step` or `hemicycle resume` goes on with it (q)"""
SHORT = {
    '': 'in', 'i': 'in', 'o': 'over', 'u': 'out', 'c': 'continue', 'p': 'pause', 'b': 'break', 'd': 'delete',
    'l': 'list', 'q': 'quit', 'h': 'help', '?': 'help', 's': 'in', 'step': 'in', 'resume': 'continue',
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompt:
    """Reads what a person types, and steers the run by it.

    Attributes:
        line: gives the next line; '' at the end of what is typed (an empty line is a line feed).
        say: shows a line.
    """

    line: Callable[[], Awaitable[str]]
    say: Callable[[str], object]

    async def __call__(self, conductor: Conductor, fold: Fold) -> bool:
        """Ask until the run is to go on (True) or to be let go of (False)."""
        view = fold.view
        why = view.stopped and f': {view.stopped}'
        self.say(plain(f'paused at step {view.seq} in {", ".join(view.active)}{why}'))
        while True:
            self.say('in, over, out, continue, pause, break, delete, list, quit; help tells more')
            typed = await self.line()
            if not typed:
                return False
            word, _, rest = typed.strip().partition(' ')
            name = SHORT.get(word, word)
            if name == 'quit':
                return False
            try:
                if await self._done(conductor, fold, name, rest.strip()):
                    return True
            except EngineError as error:
                self.say(plain(str(error)))

    async def _done(self, conductor: Conductor, fold: Fold, name: str, rest: str) -> bool:
        """Carry a command out; whether the run goes on by it."""
        run = fold.run
        hows: dict[str, How] = {'in': 'in', 'over': 'over', 'out': 'out'}
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
                for item in await changed(conductor, run, breakpoint_of(rest), ()):
                    self.say(line_of(item))
            case 'delete':
                for item in await changed(conductor, run, None, [rest]):
                    self.say(line_of(item))
            case 'list':
                view = await conductor.view(run)
                lines = [*map(line_of, view.breakpoints), *(f'held: {path}' for path in view.held)]
                self.say('\n'.join(lines) or 'no breakpoints')
            case 'help':
                self.say(HELP)
            case _:
                self.say(f'there is no {name!r}')
        return False


def asking(shower: Shower) -> Ask | None:
    """Whom to ask: the person at the terminal, or nobody where there is none."""
    return Prompt(typed_line, shower.notice) if sys.stdin.isatty() and sys.stderr.isatty() else None


async def typed_line() -> str:
    """The next line of standard input; nothing waits for it in a thread, so that it can be given up."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin, ready.set)
    try:
        await ready.wait()
        return sys.stdin.readline()
    finally:
        loop.remove_reader(sys.stdin)
