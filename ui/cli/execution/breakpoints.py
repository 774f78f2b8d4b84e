"""Breakpoints on the command line: parsed, formatted and changed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine import Breakpoint, Conductor, InvalidInput
from engine.records import RunId
from ui.formatting.plain_text import strip_control

SPEC = re.compile(r'(?:(?P<kind>enter|leave|edge)\s+(?P<place>\S+))?\s*(?:when\s+(?P<when>.+))?', re.DOTALL)


def parse_breakpoint(text: str) -> Breakpoint:
    """Parse a breakpoint: `enter STATE`, `leave STATE` or `edge A>B`, `when CONDITION`, or both.

    It may be preceded by `once` and `region`. Raises `InvalidInput`.
    """
    words, once, stop = text.strip(), False, False
    while prefix := re.match(r'(once|region)\s+', words):
        once, stop = once or prefix[1] == 'once', stop or prefix[1] == 'region'
        words = words[prefix.end() :]
    match = SPEC.fullmatch(words)
    if not match or not words:
        shape = '[once] [region] enter STATE, leave STATE or edge A>B, and when CONDITION'
        raise InvalidInput({'break': f'must be {shape}, not {text!r}'})
    kind = match['kind']
    return Breakpoint(
        enter=match['place'] if kind == 'enter' else '',
        leave=match['place'] if kind == 'leave' else '',
        edge=match['place'] if kind == 'edge' else '',
        when=match['when'] or '',
        once=once,
        stop='region' if stop else 'run',
    )


def format_breakpoint(item: Breakpoint) -> str:
    """Return a line with a breakpoint's id and label, its hits, and how it differs from the default."""
    notes = [
        'hit once' if item.hits == 1 else f'hit {item.hits} times' if item.hits else '',
        'once' if item.once else '',
        'its region alone' if item.stop == 'region' else '',
        '' if item.enabled else 'disabled',
        f'could not be evaluated: {item.problem}' if item.problem else '',
    ]
    return strip_control(' · '.join([f'{item.id:>3}  {item.label}', *filter(None, notes)]))


async def update_breakpoints(
    conductor: Conductor, run: RunId, item: Breakpoint | None, remove: Sequence[str]
) -> tuple[Breakpoint, ...]:
    """Add a breakpoint to a run, or remove some. Raises `EventRefused`, `InvalidInput`."""
    current = (await conductor.view(run)).breakpoints
    numbers = {item.id for item in current}
    unknown = [number for number in remove if number != 'all' and number not in numbers]
    if unknown:
        listed = ', '.join(sorted(numbers)) or 'none'
        raise InvalidInput({'remove': f'there is no breakpoint {unknown[0]!r}; available: {listed}'})
    left = [item for item in current if 'all' not in remove and item.id not in remove]
    return await conductor.set_breakpoints(run, [*left, *([item] if item else [])])
