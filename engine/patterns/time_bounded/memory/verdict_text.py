"""Verdicts in words: the score and the approval in a supervisor's prose, if it states both plainly."""

from __future__ import annotations

import re

SCORE = re.compile(
    r'\bscore(?: is| of)?\s*[:=]?\s*(\d{1,3})'
    r'(?:\s*(?:/|out of)\s*100\b|\s*%|(?![.,]?\d)(?=\s*(?:$|[.,;:)\n-])))'
)
SUBJECT = r'(?:it|this|(?:the|this) (?:plan|code|step|work|fix plan|goal))'
APPROVED = re.compile(rf'(?:{SUBJECT} is )?approved|(?:i )?approve(?: {SUBJECT})?')
REJECTED = re.compile(
    rf'(?:{SUBJECT} is )?(?:not (?:yet )?approved|disapproved|rejected)'
    rf'|(?:i )?(?:(?:do not|don\'t|cannot|can\'t) approve|reject)(?: {SUBJECT})?'
)
DECIDES = re.compile(r'approv|reject|accept|refus|declin')
CONDITION = re.compile(
    r'\b(?:if|unless|once|until|when|provided|assuming|would|could|but|except|however|only|pending)\b'
)
LABEL = re.compile(r'\b(?:verdict|decision|status|approval)\s*[:=]\s*')
ANSWER = re.compile(r'\bapproved\s*[:=]\s*(?:(?P<yes>yes|true)|no|false)\b')
EXPLAINED = re.compile(r'\bapproved\s*[:=]')
"""Approved: what?"""
CLAUSE = re.compile(r'[.,;:!()|\n]|\s[-\u2013\u2014]\s|\band\b')


def parse_verdict(text: str) -> tuple[int, bool]:
    """Return the score, from 0 to 100, and whether the work is approved.

    Raises:
        ValueError: if it lacks one of the two, states several, or approves under a condition.
    """
    plain = re.sub(r'[*_`#]', '', text).casefold().replace('\u2019', "'")
    scores = {int(score) for score in SCORE.findall(plain)}
    rest = LABEL.sub('', SCORE.sub(';', plain))
    rest = ANSWER.sub(lambda answer: 'approved' if answer['yes'] else 'rejected', rest)
    clauses = [clause.strip() for clause in CLAUSE.split(rest)]
    decisions = {
        True if APPROVED.fullmatch(clause) else False if REJECTED.fullmatch(clause) else None
        for clause in clauses
        if DECIDES.search(clause)
    }
    unclear = 'score' in rest or EXPLAINED.search(rest) or CONDITION.search(rest)
    if unclear or len(scores) != 1 or max(scores) > 100 or decisions not in ({True}, {False}):
        raise ValueError('it does not state score and approval plainly')
    return scores.pop(), True in decisions
