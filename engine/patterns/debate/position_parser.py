"""Parses positions from plain-text replies: keywords count only at the start of a line."""

from __future__ import annotations

import re
from collections.abc import Collection

from engine.patterns.debate.candidate_names import find_name
from engine.patterns.debate.records import Position, Verdict

KEYWORDS: dict[str, Verdict] = {
    'APPROVE': 'APPROVE',
    'REVISE_BEST': 'REVISE_BEST',
    'REVISE_ALL': 'REVISE_ALL',
    'REVISE': 'REVISE_BEST',
}
LINE = re.compile(r'(?:\*\*)?(CONSENSUS|APPROVE|REVISE(?:_BEST|_ALL)?)(?:\*\*)?:(?:\*\*)?[ \t]*(.*)')
AFTER = re.compile(r'(APPROVE|REVISE_BEST|REVISE_ALL|REVISE)\b[:.,]?[ \t]*(.*)')
"""A verdict right after `CONSENSUS:`."""
FENCE = re.compile(r'(`{3,}|~{3,}|=== )')


def parse_position(text: str, names: Collection[str] = ()) -> Position:
    """Parse a reviewer's reply.

    The keywords are `CONSENSUS:`, `APPROVE:`, `REVISE:`, `REVISE_BEST:` and `REVISE_ALL:` at the start of a
    line; in code blocks, quotations (`>`), indented blocks and mid-sentence they are ignored. Different
    verdicts cancel each other out.

    Args:
        text: the whole reply.
        names: names of the implementations; the first one mentioned after a verdict is the best, as it is
            called there: see `resolve_names`.
    """
    verdicts: set[Verdict] = set()
    agrees, best, changes = False, '', []
    for line in _plain_lines(text):
        match = LINE.match(line)
        if not match:
            continue
        word, rest = match.groups()
        if word == 'CONSENSUS':
            agrees = True
            after = AFTER.match(rest)
            word, rest = after.groups() if after else ('', rest)
        if word:
            verdicts.add(KEYWORDS[word])
        best = best or find_name(rest, names)
        if rest and word != 'APPROVE':
            changes.append(rest.strip())
    if agrees and not verdicts:
        verdicts = {'REVISE_BEST'}  # Agreement without a verdict means that the best one is to be revised.
    verdict: Verdict = verdicts.pop() if len(verdicts) == 1 else 'UNDECIDED'
    return Position(
        text=text[:20_000], verdict=verdict, best=best, agrees=agrees, changes=tuple(changes[:20])
    )


def _plain_lines(text: str) -> list[str]:
    """Return the lines that are neither code nor quotation."""
    lines: list[str] = []
    closing = ''
    for line in text.splitlines():
        mark = FENCE.match(line.lstrip())
        if closing:
            if line.strip().startswith(closing):
                closing = ''
        elif mark:
            closing = mark[1]
        elif not line.startswith(('>', '    ', '\t')):
            lines.append(line.lstrip(' '))
    return lines
