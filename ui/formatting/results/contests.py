"""Results that several agents compete for: a tally, a podium, an approved version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from engine.patterns import Ballot, Candidate, Choice, Comment, Consensus, Ranking, Utterance
from engine.records import View
from engine.statechart import read_leniently
from ui.formatting.results.blocks import Bar, Bars, Block, Patch, Points, Prose, Result, Row, Rows, Tone
from ui.formatting.steps import duration, excerpt, role_title
from ui.formatting.values import as_sentence, count

Times = Callable[[str], Sequence[float]]
"""Returns the seconds into the run at which each entry of a memory field was added; fewer if unknown."""
SETTLED = {
    'count': 'by the count',
    'judge': 'by the judge',
    'first': 'for the answer given first, after a tie',
}
MAX_DEBATE_LINES = 3
RULINGS = {
    'first': 'The answer is better',
    'second': 'The other answer is better',
    'tie': 'Neither is better',
}


def read_tally(view: View, field: str, times: Times) -> Result:
    """Return a vote: the answers by votes, who gave them, and each ballot before the last."""
    ballots = read_leniently(list[Ballot], view.memory.get(field))
    number = max((ballot.number for ballot in ballots), default=0)
    votes = sorted((ballot for ballot in ballots if ballot.number == number), key=lambda ballot: ballot.voter)
    tally = Counter(ballot.counted for ballot in votes)
    answer, failed = str(view.memory.get('answer') or ''), view.memory.get('failed')
    winners = {ballot.counted for ballot in votes if ballot.answer == answer}
    bars = tuple(
        Bar(
            label=min((ballot.answer for ballot in votes if ballot.counted == counted), key=len),
            value=voices,
            words=count(voices, 'vote'),
            note=', '.join(role_title(ballot.voter) for ballot in votes if ballot.counted == counted),
            tone='good' if counted in winners else '',
        )
        for counted, voices in tally.most_common()
    )
    settled = SETTLED.get(str(view.memory.get('settled_by')), '')
    aside: list[Block] = []
    if number > 1:
        lines = tuple(_describe_ballot(ballots, each) for each in range(1, number + 1))
        aside.append(Points(title='Ballots', points=lines))
    reasons = tuple(f'{role_title(ballot.voter)}: {ballot.why}' for ballot in votes if ballot.why)
    why = str(view.memory.get('why') or '')
    if reasons:
        aside.append(Points(title='Their reasons', points=reasons))
    elif why:
        aside.append(Points(title='Reason', points=(why,)))
    if isinstance(failed, dict) and failed:
        absent = tuple(f'{role_title(name)}: {as_sentence(str(reason))}' for name, reason in failed.items())
        aside.append(Points(title='No answer', points=absent))
    headline = f'{answer} · decided {settled}' if answer and settled else answer
    return Result(
        headline=headline, main=(Bars(title='Votes', most=max(len(votes), 1), bars=bars),), aside=tuple(aside)
    )


def read_ruling(view: View, field: str, times: Times) -> Result:
    """Return a judge's ruling: the score of one answer or the better one of two, and why."""
    why = str(view.memory.get(field) or '')
    if not view.memory.get('ruling'):
        return Result()
    score = f'{view.memory.get("score")} of 100'
    headline = RULINGS.get(str(view.memory.get('verdict')), score)
    return Result(headline=headline, main=(Prose(text=why),))


def _describe_ballot(ballots: Sequence[Ballot], number: int) -> str:
    cast = [ballot for ballot in ballots if ballot.number == number]
    shortest_last = sorted(cast, key=lambda ballot: -len(ballot.answer))
    given = {ballot.counted: ballot.answer for ballot in shortest_last}
    tally = Counter(ballot.counted for ballot in cast).most_common()
    tied = len(tally) > 1 and tally[0][1] == tally[1][1]
    voices = ', '.join(f'{given[counted]} ({votes})' for counted, votes in tally)
    return f'Ballot {number}: {voices}{": a tie" if tied else ""}'


def read_podium(view: View, field: str, times: Times) -> Result:
    """Return a race: who finished in which order, with tests and times, and the winner's change."""
    candidates = read_leniently(dict[str, Candidate], view.memory.get(field))
    winner = str(view.memory.get('winner') or '')
    finished = {name: times(f'{field}/{name}/versions') for name in candidates}

    def order(name: str) -> tuple[bool, bool, int, float]:
        version = candidates[name].latest
        passed = version.evidence.required.passed if version else 0
        return name != winner, version is None, -passed, (finished[name] or (0.0,))[-1]

    rows = []
    for place, name in enumerate(sorted(candidates, key=order), start=1):
        candidate = candidates[name]
        ended = duration(finished[name][-1]) if finished[name] else ''
        version = candidate.latest
        status = 'stopped: another won' if winner and candidate.status == 'working' else candidate.status
        tests = version.evidence.required.line if version else candidate.problem or status
        rows.append(
            Row(
                mark=_ordinal(place) if version else '',
                name=name,
                facts=tuple(filter(None, (tests, ended))),
                note=version.said if version else '',
                tone=_tests_tone(candidate),
                chosen=name == winner,
            )
        )
    main: list[Block] = [Rows(title='Places', rows=tuple(rows))]
    if winner:
        main.append(Patch(title='The winning change', agent=winner))
    return Result(headline=_outcome(view), main=tuple(main))


def read_review(view: View, field: str, times: Times) -> Result:
    """Return a review: the standings, who approved which version and why, and what is still open."""
    candidates = read_leniently(dict[str, Candidate], view.memory.get(field))
    rankings = read_leniently(list[Ranking], view.memory.get('standings'))
    choices = read_leniently(list[Choice], view.memory.get('choices'))
    consensuses = read_leniently(list[Consensus], view.memory.get('consensuses'))
    delivered = str(view.memory.get('result') or '')
    ranks = {ranking.coder: rank for rank, ranking in enumerate(rankings, start=1)}
    points = {ranking.coder: ranking.points for ranking in rankings}
    rows = []
    for name in sorted(candidates, key=lambda name: ranks.get(name, len(candidates) + 1)):
        version = candidates[name].latest
        facts = (
            f'version {version.number}' if version else candidates[name].problem or candidates[name].status,
            f'{points[name]:g} points' if name in points else '',
            version.evidence.required.line if version else '',
        )
        rows.append(
            Row(
                mark=_ordinal(ranks[name]) if name in ranks else '',
                name=name,
                facts=tuple(filter(None, facts)),
                note=version.said if version else '',
                tone=_tests_tone(candidates[name]),
                chosen=name == delivered,
            )
        )
    main: list[Block] = [Rows(title='Candidates', rows=tuple(rows))]
    aside = [
        *_verdict(view, consensuses, choices),
        *_open_points(view, consensuses),
        *_debate(view, consensuses),
    ]
    if delivered:
        main.append(Patch(title='The approved change', agent=delivered))
    return Result(headline=_outcome(view), main=tuple(main), aside=tuple(aside))


def _verdict(view: View, consensuses: Sequence[Consensus], choices: Sequence[Choice]) -> list[Block]:
    if view.memory.get('approved') and consensuses:
        by = ' and '.join(role_title(name) for name in consensuses[-1].by)
        reasons = (consensuses[-1].text, *consensuses[-1].rests_on)
        return [Points(title=f'Approved by {by}' if by else 'Approved', points=reasons)]
    return [Points(title='Why this one', points=(choices[-1].why,))] if choices and choices[-1].why else []


def _open_points(view: View, consensuses: Sequence[Consensus]) -> list[Block]:
    comments = read_leniently(list[Comment], view.memory.get('comments'))
    open_points = [] if view.memory.get('approved') or not consensuses else list(consensuses[-1].changes)
    open_points += [
        f'{comment.path}:{comment.line}: {comment.text}' for comment in comments if comment.is_unheeded
    ]
    return [Points(title='Still open', points=tuple(open_points))] if open_points else []


def _debate(view: View, consensuses: Sequence[Consensus]) -> list[Block]:
    """Return the debate in three lines: who stood where at first, and how it was settled."""
    utterances = read_leniently(list[Utterance], view.memory.get('transcript'))
    first = {
        utterance.speaker: utterance.position.best
        for utterance in reversed(utterances)
        if utterance.phase == 'review' and utterance.position and utterance.position.best
    }
    lines = []
    if first:
        stood = [f'{role_title(who)} for {best}' for who, best in sorted(first.items())]
        lines.append(f'At first: {", ".join(stood)}')
    lines += [
        f'{str(item.verdict).replace("_", " ").capitalize()}{f": {item.best}" if item.best else ""}'
        f', after {count(item.round, "round")}. {excerpt(item.text)}'
        for item in consensuses
    ]
    if len(lines) > MAX_DEBATE_LINES:
        lines = [lines[0], *lines[1 - MAX_DEBATE_LINES :]]
    return [Points(title='The debate', points=tuple(lines))] if lines else []


def _outcome(view: View) -> str:
    return str(view.memory.get('outcome') or '').partition('\n')[0]


def _tests_tone(candidate: Candidate) -> Tone:
    if candidate.latest is None:
        return 'bad' if candidate.problem else ''
    return 'good' if candidate.latest.evidence.ok else 'bad'


def _ordinal(place: int) -> str:
    return ('', '1st', '2nd', '3rd')[place] if place < 4 else f'{place}th'
