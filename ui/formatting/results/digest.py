"""A result in small: its outcome, and the first lines of one block."""

from __future__ import annotations

from dataclasses import replace

from ui.formatting.results.blocks import Bars, Block, Facts, Prose, Remarks, Result, Rows
from ui.formatting.steps import excerpt

MAX_LINES = 3
"""The most bars, rows, facts or remarks of a result in small."""


def digest(result: Result) -> Result:
    """Return a result in small: without prose, which gives the outcome if there is no other."""
    blocks = (*result.main, *result.aside)
    prose = next((excerpt(block.text) for block in blocks if isinstance(block, Prose) and block.text), '')
    shortened = [block for block in map(_shorten, blocks) if block is not None]
    return Result(headline=result.headline or prose, main=tuple(shortened[:1]))


def _shorten(block: Block) -> Block | None:
    match block:
        case Bars(bars=bars):
            return replace(block, bars=tuple(replace(bar, note='') for bar in bars[:MAX_LINES]))
        case Rows(rows=rows):
            return replace(
                block, rows=tuple(replace(row, note='', facts=row.facts[:1]) for row in rows[:MAX_LINES])
            )
        case Facts(facts=facts):
            return replace(block, facts=facts[:MAX_LINES])
        case Remarks(remarks=remarks):
            return replace(block, remarks=tuple(replace(item, suggestion='') for item in remarks[:1]))
        case _:
            return None
