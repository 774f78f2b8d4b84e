"""Aligns two sequences: pairs as many equal items as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Pair = tuple[int | None, int | None]
"""An index into each sequence; None where the other has no matching item."""


def align(a: Sequence[Any], b: Sequence[Any]) -> list[Pair]:
    """Pair the indices of equal items, in order; all other items remain unpaired.

    A longest common subsequence: between two pairs come the unpaired items of `a`, then those of `b`. It is
    symmetric: swapping the arguments gives the same pairs. A common prefix is paired first.

    Each row is processed as the bits of one integer (Hyyrö, "Bit-parallel LCS-length computation revisited",
    2004): time and memory grow with len(a) * len(b) / 64.
    """
    same = next((n for n, (left, right) in enumerate(zip(a, b, strict=False)) if left != right), None)
    head = min(len(a), len(b)) if same is None else same
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = _pairs(a[head : len(a) - tail], b[head : len(b) - tail])
    ends = [(len(a) - n, len(b) - n) for n in range(tail, 0, -1)]
    pairs = [*((n, n) for n in range(head)), *((x + head, y + head) for x, y in middle), *ends]
    return list(_fill_gaps(pairs, len(a), len(b)))


def _fill_gaps(pairs: Sequence[tuple[int, int]], length_a: int, length_b: int) -> Iterator[Pair]:
    x = y = 0
    for to_x, to_y in [*pairs, (length_a, length_b)]:
        yield from ((place, None) for place in range(x, to_x))
        yield from ((None, place) for place in range(y, to_y))
        if to_x < length_a:
            yield to_x, to_y
        x, y = to_x + 1, to_y + 1


def _pairs(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[int, int]]:
    if not a or not b:
        return []
    numbers: dict[Any, int] = {}
    first = [numbers.setdefault(item, len(numbers)) for item in a]
    second = [numbers.setdefault(item, len(numbers)) for item in b]
    # Order the arguments canonically, so that ties are broken the same way whichever comes first.
    if (len(a), [str(item) for item in a]) > (len(b), [str(item) for item in b]):
        return [(x, y) for y, x in _longest(second, first)]
    return _longest(first, second)


def _longest(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    where: dict[int, int] = {}
    for place, item in enumerate(a):
        where[item] = where.get(item, 0) | 1 << place
    full = (1 << len(a)) - 1
    row, rows = full, []
    for item in b:  # a zero bit means that this item of `a` adds a pair
        hit = row & where.get(item, 0)
        row = ((row + hit) | (row - hit)) & full
        rows.append(row)
    pairs, x, y = [], len(a), len(b)
    while x and y:
        if a[x - 1] == b[y - 1]:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        elif rows[y - 1] >> (x - 1) & 1:
            x -= 1
        else:
            y -= 1
    return pairs[::-1]
