"""Booked times as half-open spans (start, end), in minutes since midnight."""

Span = tuple[int, int]


def check(span: Span) -> Span:
    """Return the span. Raises ValueError if it ends before it begins."""
    start, end = span
    if end < start:
        raise ValueError(f'{span} ends before it begins')
    return span


def merge(spans: list[Span]) -> list[Span]:
    """Return the same times as the fewest possible spans, in order. Adjacent spans are joined."""
    merged: list[Span] = []
    for start, end in sorted(check(span) for span in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def free(spans: list[Span], day: Span = (480, 1080)) -> list[Span]:
    """Return the free time between the spans on a day."""
    found: list[Span] = []
    at = day[0]
    for start, end in merge(spans):
        if start > at:
            found.append((at, min(start, day[1])))
        at = max(at, end)
    if at < day[1]:
        found.append((at, day[1]))
    return [span for span in found if span[0] < span[1]]
