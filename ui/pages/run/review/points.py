"""Points of a debate and their answers: who answers whom, and which points nobody has answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ui.pages.run.review.debate_records import Turn, as_list, as_records

STANCES = {'accepts': ('check', 'Accepted by'), 'rebuts': ('reply', 'Rebutted by')}
"""An icon and words for each way to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer to a point, and the point as it was made."""

    to: str
    speaker: str
    """Who answers."""
    stance: str
    why: str
    seq: int
    point: str = ''
    """The text of the point; '' if none has that id."""
    whose: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """All points of a run's debates."""

    replies: Mapping[str, tuple[Reply, ...]] = field(default_factory=dict)
    """By the id of the point."""
    open: frozenset[str] = frozenset()
    """Points insisted on in a speaker's last turn that nobody answered, although others spoke since."""

    def replies_in(self, turn: Turn) -> tuple[Reply, ...]:
        """Return the answers given in a turn."""
        place = _locate(turn)
        given = (reply for replies in self.replies.values() for reply in replies)
        return tuple(reply for reply in given if (reply.speaker, reply.seq) == (place[0], turn.seq))

    def related_replies(self, turn: Turn) -> tuple[tuple[Reply, ...], frozenset[str]]:
        """Return what to show with a turn: the answers in it and to it, and its open points."""
        ids = {name for name, _ in point_ids(turn)}
        to_it = (reply for name in ids for reply in self.replies.get(name, ()))
        return (*self.replies_in(turn), *to_it), self.open & ids


def point_ids(turn: Turn) -> list[tuple[str, str]]:
    """Return a turn's points with the ids that reviewers see."""
    speaker, debate, number = _locate(turn)
    texts = [*as_list(turn.position.get('insists')), *as_list(turn.position.get('changes'))]
    return [(f'{speaker}/{debate}.{number}/{index}', str(text)) for index, text in enumerate(texts, start=1)]


def link_points(turns: Sequence[Turn], *, answerable: bool) -> Points:
    """Link the answers to the points.

    Args:
        turns: all turns, in order.
        answerable: whether the reviewers were shown ids; if not, no point counts as unanswered.
    """
    known = {name: (turn, text) for turn in turns for name, text in point_ids(turn)}
    replies: dict[str, tuple[Reply, ...]] = {}
    for turn in turns:
        for answer in as_records(turn.position.get('answers')):
            to = str(answer.get('to', ''))
            made, text = known.get(to, (None, ''))
            reply = Reply(
                to=to,
                speaker=_locate(turn)[0],
                stance=str(answer.get('stance', '')),
                why=str(answer.get('why', '')),
                seq=turn.seq,
                point=text,
                whose=_locate(made)[0] if made else '',
            )
            replies[to] = (*replies.get(to, ()), reply)
    unanswered = (name for name in _insisted_points(turns) if name not in replies) if answerable else ()
    return Points(replies=replies, open=frozenset(unanswered))


def _insisted_points(turns: Sequence[Turn]) -> list[str]:
    """Return the points each speaker insisted on in its last turn of a debate, if others spoke after it."""
    found = []
    for index, turn in enumerate(turns):
        speaker, debate, _ = _locate(turn)
        after = [_locate(later) for later in turns[index + 1 :] if later.position]
        others = [one for one in after if one[1] == debate and one[0] != speaker]
        again = any(one[:2] == (speaker, max(debate, 1)) for one in after)
        if debate and others and not again and not turn.entry.get('synthesized'):
            found += [name for name, _ in point_ids(turn)[: len(as_list(turn.position.get('insists')))]]
    return found


def _locate(turn: Turn) -> tuple[str, int, int]:
    numbers = (turn.entry.get(name) for name in ('debate', 'round'))
    debate, number = (value if isinstance(value, int) else 0 for value in numbers)
    return str(turn.entry.get('speaker', '')), debate, number
