"""Extracts a task's topic from its words: subject, terms, options and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

SMALL_WORDS = """
a about after again all also an and any are as at be because been before being best better between both
but by can could did do does during each either every few for from good had has have her his how i if in
into is it its just many may me might more most much must my need needs no nor not now of off on one only
or our out over own per please same shall she should so some such than that the their them then there
these they this those through to too under up us using versus very vs was we were what when where whether
which while who whom why will with within without would year years month months week weeks day days you
your
"""
VERBS = """
adopt analyse analyze assess build buy change choose compare create decide describe design draft evaluate
explain explore find get give hire introduce investigate keep leave list look make migrate move plan
prepare produce propose put recommend rent replace report research review rewrite run sell show start
stop suggest summarise summarize switch take tell think use write
"""
SMALL = frozenset(SMALL_WORDS.split())
ORDERS = frozenset(VERBS.split())
FORMS = re.compile(
    r'^(?:please\s+)?(?:write|draft|prepare|produce|give|make|create)\b.{0,60}?\b(?:on|about|of|comparing)\s+',
    re.I,
)
ORDER = re.compile(rf'^(?:please\s+)?(?:{"|".join(sorted(ORDERS))})\s+(?:whether\s+|how\s+)?', re.I)
CHOICE = re.compile(r'(?:between\s+)?([^,.;:?!]+?)\s+(?:or|vs\.?|versus)\s+([^,.;:?!]+)', re.I)
COMPARED = re.compile(r'(?:compare|between|comparing)\s+([^,.;:?!]+?)\s+(?:and|with|to)\s+([^,.;:?!]+)', re.I)
NUMBER = re.compile(r'(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w]|\.\d)')
PERIOD = re.compile(r'^\s*\S*?\s*(?:\w+\s+){0,2}?(?:a|per|each|every)\s+(day|week|month)\b', re.I)
TIMES = {'day': 365, 'week': 52, 'month': 12}
OWNERS = frozenset({'our', 'its', 'their', 'my', 'your'})
ARTICLES = OWNERS | {'a', 'an', 'the'}
RELATIVES = frozenset({'that', 'which', 'who'})
MAX_SUBJECT = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """A calculation worth making from a task's numbers."""

    expression: str
    says: str
    """A sentence with `{}` for the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A parsed task."""

    task: str
    subject: str
    """The subject, usable as a heading."""
    terms: tuple[str, ...]
    """Its key phrases with their articles, most specific first; never empty."""
    options: tuple[str, ...]
    """The alternatives it names, if any."""
    sum: Sum | None
    numbers: tuple[str, ...]

    @property
    def about(self) -> str:
        """The subject phrased to follow "about": a question is quoted."""
        asks = self.subject.partition(' ')[0].lower() in SMALL - ARTICLES
        return f'the question “{self.subject}?”' if asks else self.subject

    @property
    def heading(self) -> str:
        """The subject with a capital letter."""
        return self.subject[:1].upper() + self.subject[1:]

    def term(self, index: int) -> str:
        """Return the term at `index`, wrapping around."""
        return self.terms[index % len(self.terms)]


def extract_topic(task: str) -> Topic:
    """Return what a task is about, from its first sentence."""
    line = ' '.join(task.split()) or 'the task'
    first = re.split(r'(?<=[.?!])\s', line, maxsplit=1)[0].rstrip(' .?!')
    subject = FORMS.sub('', first)
    if subject == first:
        subject = ORDER.sub('', first)
    return Topic(
        task=line,
        subject=_short(subject or first),
        terms=_terms(FORMS.sub('', line)),
        options=_options(first),
        sum=_sum(line),
        numbers=tuple(match.group() for match in NUMBER.finditer(line)),
    )


def _short(text: str) -> str:
    return text if len(text) <= MAX_SUBJECT else f'{text[:MAX_SUBJECT].rpartition(" ")[0]} …'


def _terms(line: str) -> tuple[str, ...]:
    terms: dict[str, bool] = {}
    run: list[str] = []
    article = before = verb = ''
    for word in [*re.findall(r"[^\W_](?:[\w'’-]*\w)?|[^\w\s]", line), '.']:
        small = word.lower()
        if _carries(word) and not (not run and before in RELATIVES):
            run.append(word)
        elif run:
            # A verb's object comes before its subject.
            terms.setdefault(' '.join([article, *run[:3]]).strip(), bool(verb))
            run, verb = [], ''
        if small in ORDERS:
            verb = small
        if not run:
            article = ('the' if small in OWNERS else small) if small in ARTICLES else ''
        before = small
    ordered = sorted(terms, key=lambda term: (not terms[term], not _is_long(term)))
    return tuple(ordered[:5]) or (_short(line),)


def _is_long(term: str) -> bool:
    return sum(_carries(word) for word in term.split()) > 1


def _carries(word: str) -> bool:
    """Return whether the word carries meaning, and is not just grammar."""
    return word[0].isalpha() and word.lower() not in SMALL | ORDERS


def _options(first: str) -> tuple[str, ...]:
    match = COMPARED.search(first) or CHOICE.search(ORDER.sub('', first))
    if not match:
        return ()
    left, right = match.group(1).split(), match.group(2).split()
    # The alternatives are nearest to the "or": the last phrase on its left, the first on its right.
    sides = _leading_phrase(left[::-1])[::-1], _leading_phrase(right)
    return tuple(' '.join(side) for side in sides) if all(sides) else ()


def _leading_phrase(words: list[str]) -> list[str]:
    """Return the longest leading run of words that belong together, with an article at either end."""
    phrase: list[str] = []
    for word in words:
        article = word.lower() in ARTICLES
        if not (_carries(word) or article) or len(phrase) == 4:
            break
        phrase.append(word)
        if article and len(phrase) > 1:
            break
    return phrase if any(_carries(word) for word in phrase) else []


def _sum(line: str) -> Sum | None:
    plain: list[str] = []
    for match in NUMBER.finditer(line):
        value = match.group().replace(',', '')
        period = PERIOD.match(line[match.end() : match.end() + 40])
        if period:
            name = period.group(1).lower()
            return Sum(
                expression=f'{value} * {TIMES[name]}', says=f'{match.group()} a {name} comes to {{}} a year.'
            )
        if not 1900 <= float(value) <= 2100 and float(value):
            plain.append(value)
    if len(plain) < 2:
        return None
    low, high = sorted(plain[:2], key=float)
    return Sum(expression=f'{high} / {low}', says=f'{high} divided by {low} is {{}}.')
