"""Points of a debate and their answers: who answers whom, and which points nobody has answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ui.web.pages.run.review.debates import Turn

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
        place = (turn.utterance.speaker, turn.seq)
        replies = (reply for replies in self.replies.values() for reply in replies)
        return tuple(reply for reply in replies if (reply.speaker, reply.seq) == place)

    def related_replies(self, turn: Turn) -> tuple[tuple[Reply, ...], frozenset[str]]:
        """Return what to show with a turn: the answers in it and to it, and its open points."""
        ids = {name for name, _ in turn.utterance.points}
        to_it = (reply for name in ids for reply in self.replies.get(name, ()))
        return (*self.replies_in(turn), *to_it), self.open & ids


def link_points(turns: Sequence[Turn]) -> Points:
    """Link the answers in these turns (all, in order) to the points."""
    points = {name: (turn.utterance.speaker, text) for turn in turns for name, text in turn.utterance.points}
    replies: dict[str, tuple[Reply, ...]] = {}
    for turn in turns:
        for answer in turn.utterance.position.answers if turn.utterance.position else ():
            whose, text = points.get(answer.to, ('', ''))
            reply = Reply(
                to=answer.to,
                speaker=turn.utterance.speaker,
                stance=answer.stance,
                why=answer.why,
                seq=turn.seq,
                point=text,
                whose=whose,
            )
            replies[answer.to] = (*replies.get(answer.to, ()), reply)
    unanswered = frozenset(name for name in _insisted_points(turns) if name not in replies)
    return Points(replies=replies, open=unanswered)


def _insisted_points(turns: Sequence[Turn]) -> list[str]:
    """Return the points each speaker insisted on in its last turn of a debate, if others spoke after it."""
    insisted = []
    for index, turn in enumerate(turns):
        utterance = turn.utterance
        after = [later.utterance for later in turns[index + 1 :] if later.utterance.position]
        others = any(
            later.debate == utterance.debate and later.speaker != utterance.speaker for later in after
        )
        again = any(
            later.debate == max(utterance.debate, 1) and later.speaker == utterance.speaker for later in after
        )
        if utterance.position and utterance.debate and others and not again and not utterance.synthesized:
            insisted += [name for name, _ in utterance.points[: len(utterance.position.insists)]]
    return insisted
