"""Sentence templates for improvised answers: drafts, reviews, findings and single fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.models.scripted.topic_extraction import Topic

VERDICTS = ('approved', 'accepted', 'passed', 'agreed', 'done', 'complete')
FOR = frozenset({'pro', 'for', 'advocate', 'proponent', 'supporter', 'optimist'})
AGAINST = frozenset({'con', 'against', 'opponent', 'critic', 'sceptic', 'skeptic', 'pessimist'})
LABELS = frozenset({'name', 'title', 'label', 'id', 'key', 'topic', 'owner', 'tag', 'tags'})


def opening(topic: Topic, role: str, visit: int) -> str:
    """Return the reasoning at the start of a reply."""
    if visit > 1:
        return f'This came back. I will look at what I had noted on {topic.term(0)} and answer each point.'
    number = f' It names {_join_words(topic.numbers[:3])}, so that can be checked.' if topic.numbers else ''
    return f'This is about {topic.about}. What matters is {_join_words(topic.terms[:3])}.{number}'


def plan(topic: Topic) -> str:
    """Return an initial note."""
    return (
        f'1. What exactly is asked about {topic.term(0)}?\n'
        f'2. What would have to be true for it to be worth doing?\n'
        f'3. What speaks against it, and what else would serve {topic.term(1)}?'
    )


def suggestions(topic: Topic, role: str, visit: int, worked_out: str) -> Mapping[str, Any]:
    """Return values by field name, used wherever the schema has the field and they fit."""
    good = visit > 1
    remarks = [] if good else _remarks(topic)
    verdict = (
        f'It answers the task on {topic.term(0)} and can be delivered.'
        if good
        else f'A sound start on {topic.term(0)}, but it is not yet something one could act on.'
    )
    return {
        **dict.fromkeys(VERDICTS, good),
        'score': 88 if good else 63,
        'comments': remarks,
        'summary': verdict if role in ('reviewer', 'critic', 'judge') else _gist(topic),
        'findings': _facts(topic, worked_out),
        'sources': ['The task itself', *(['Own calculation'] if worked_out else [])],
        'open_questions': [
            f'Who decides about {topic.term(0)}, and by when?',
            f'Which figures on {topic.term(1)} are known, and how old are they?',
        ],
        'options': list(topic.options),
        'approach': f'First what is known of {topic.term(0)}, then what follows from it, then the text.',
        'tasks': _tasks(topic),
        'success': True,
        'output': contribution(topic, role, visit, worked_out),
    }


def _tasks(topic: Topic) -> list[dict[str, Any]]:
    """Return a plan for a team."""
    plan = (
        ('facts', 'researcher', f'Collect what is known of {topic.term(0)}.', ()),
        ('costs', 'researcher', f'Find out what {topic.term(1)} costs today.', ()),
        ('choice', 'analyst', f'Compare the choices for {topic.term(0)}.', ('facts', 'costs')),
        ('note', 'writer', f'Write a note on {topic.subject}.', ('choice',)),
    )
    return [
        {'task_id': name, 'assigned_to': role, 'description': text, 'depends_on': list(after), 'priority': 3}
        for name, role, text, after in plan
    ]


def field(topic: Topic, name: str, index: int) -> str:
    """Text for any other field."""
    term = topic.term(index)
    if name == 'key' or name.lower() in LABELS:
        return term if index < len(topic.terms) else f'{term} {index + 1}'
    word = name.replace('_', ' ').strip() or 'point'
    sentences = (
        f'On {term}: settle what has to be true before anything is spent on it.',
        f'On {term}: begin with the smallest version that can be judged.',
        f'On {term}: compare it with what is done today.',
        f'On {term}: name who is responsible, and a date.',
    )
    sentence = sentences[index % len(sentences)]
    return sentence if index < len(sentences) else f'{sentence} ({word} {index + 1})'


def first_draft(topic: Topic, findings: Sequence[str], worked_out: str) -> str:
    """Return a first answer: short, with a list."""
    known = findings[:5] or _facts(topic, worked_out)
    options = '\n'.join(f'- **{name}**: {reason}' for name, reason in _options(topic))
    return (
        f'# {topic.heading}\n\n'
        f'**In short:** {_gist(topic)}\n\n'
        f'## What is known\n\n' + '\n'.join(f'- {fact}' for fact in known) + '\n\n'
        f'## What can be done\n\n{options}\n\n'
        f'## Conclusion\n\n'
        f'Start with the smallest step that tells something about {topic.term(0)}, and decide on the rest '
        f'when its result is there.\n'
    )


def revision(
    topic: Topic, findings: Sequence[str], comments: Sequence[str], visit: int, worked_out: str
) -> str:
    """Return a later answer: replies to each comment, and compares the choices in a table."""
    answered = '\n'.join(
        f'| {_cell(comment)} | {_reply(topic, number)} |' for number, comment in enumerate(comments)
    )
    compared = '\n'.join(
        f'| {_cell(name)} | {reason} | {cost} |'
        for (name, reason), cost in zip(_options(topic), ('highest', 'low', 'none now'), strict=False)
    )
    facts = '\n'.join(f'{number}. {fact}' for number, fact in enumerate(findings[:3], start=1))
    known = f'## What it rests on\n\n{facts}\n\n' if facts else ''
    figure = f'{worked_out} ' if worked_out else ''
    return (
        f'# {topic.heading} (version {visit})\n\n'
        f'**Decision:** try {topic.term(0)} on a small scale first, with a date on which it is judged.\n\n'
        f'## What changed after the review\n\n| Comment | Answer |\n|---|---|\n{answered}\n\n'
        f'## The choices compared\n\n| Choice | What speaks for it | Cost to begin |\n|---|---|---|\n'
        f'{compared}\n\n'
        f'{known}'
        f'## When to stop\n\n'
        f'{figure}If the trial shows no clear gain for {topic.term(1)} by the agreed date, end it: what was '
        f'learned is the result. If it does, take the next step and judge again.\n\n'
        f'## Who does what\n\n'
        f'1. One person owns the question of {topic.term(0)} and reports on it.\n'
        f'2. Those who work with {topic.term(1)} every day say what counts as a gain, before the trial.\n'
        f'3. Whoever pays decides on the day that was fixed.\n'
    )


def section(topic: Topic, title: str, filler: str) -> str:
    """One section of a text, without its heading."""
    points = _neutral(topic)
    start = sum(map(ord, title))
    text = ' '.join(points[(start + number) % len(points)] for number in range(3))
    return f'*{filler}*\n\n{text}\n'


def contribution(topic: Topic, role: str, visit: int, worked_out: str, variety: int = 0) -> str:
    """Return a contribution of any other role; `variety` distinguishes agents with the same role."""
    who = role.replace('_', ' ') or 'colleague'
    names = set(role.lower().split('_'))
    points = _for(topic) if names & FOR else _against(topic) if names & AGAINST else _neutral(topic)
    start = visit - 1 + variety
    lines = '\n'.join(f'{number}. {points[(start + number) % len(points)]}' for number in (1, 2, 3))
    head = f'As {who}, on {topic.about}:' if visit == 1 else f'Round {visit}, as {who}, on {topic.about}:'
    return f'{head}\n\n{lines}\n' + (f'\n{worked_out}\n' if worked_out else '')


def _for(topic: Topic) -> tuple[str, ...]:
    return (
        f'What {topic.term(0)} changes is felt every day; what it costs is mostly paid once.',
        f'A trial of {topic.term(0)} can be ended at any time, so the risk is small and known.',
        f'Waiting has a price too: the cost of doing nothing about {topic.term(1)} is paid every month.',
        f'The objections to {topic.term(0)} concern how it is done, less whether it is done.',
        f'Nobody has named a figure that speaks against {topic.term(1)}.',
    )


def _against(topic: Topic) -> tuple[str, ...]:
    return (
        f'The gain from {topic.term(0)} is hoped for, its cost is certain.',
        f'A trial of {topic.term(0)} ties people down who are needed for {topic.term(1)}.',
        'What is started is seldom ended, whatever date was agreed.',
        f'A smaller step would show the same about {topic.term(0)}, and has not been considered.',
        f'Nobody has named a figure that speaks for {topic.term(1)}.',
    )


def _neutral(topic: Topic) -> tuple[str, ...]:
    return (
        f'What counts is what {topic.term(0)} changes for the people concerned; that needs a figure.',
        f'Whatever is done about {topic.term(1)} should be possible to undo until it is understood.',
        f'The cost of doing nothing about {topic.term(2)} belongs in the comparison too.',
        f'What is known of {topic.term(0)} today is enough for a first step, not for the last one.',
        f'The objections to {topic.term(1)} concern how it is done, less whether it is done.',
    )


def _facts(topic: Topic, worked_out: str) -> list[str]:
    facts = [
        f'The question turns on {_join_words(topic.terms[:3])}.',
        f'The cost of {topic.term(0)} comes in two parts, to begin with and every year; keep them apart.',
        'Whether anything is gained can be seen only against how things are today.',
    ]
    if topic.options:
        facts.insert(1, f'The task itself names the alternatives: {_join_words(topic.options)}.')
    if topic.numbers:
        facts.append(f'The task gives these figures: {_join_words(topic.numbers[:5])}.')
    return [*facts, worked_out] if worked_out else facts


def _remarks(topic: Topic) -> list[str]:
    return [
        f'Say what {topic.term(0)} would cost, to begin with and every year, or say that it is not known.',
        f'Compare the choices side by side: {topic.term(1)} is mentioned but weighed against nothing.',
        'Say when to stop, and who decides it.',
    ]


def _reply(topic: Topic, number: int) -> str:
    replies = (
        f'The cost to begin is set apart from the yearly one; the trial of {topic.term(0)} measures both',
        'A table compares the choices',
        'A section says when to stop, and who decides',
        f'The part on {topic.term(1)} is written anew',
    )
    return replies[number % len(replies)]


def _options(topic: Topic) -> list[tuple[str, str]]:
    if topic.options:
        first, second = topic.options[:2]
        return [
            (_capitalize(first), 'it is judged by what it costs over the years, not by its price'),
            (_capitalize(second), 'it is judged by the same measure, over the same years'),
            ('Decide later', 'nothing is lost while figures are collected'),
        ]
    return [
        ('Do it all at once', f'{topic.term(0)} is settled, for good or ill'),
        ('Try it on a small scale', 'what is learned costs little'),
        ('Leave it as it is', 'nothing has to be paid or explained'),
    ]


def _gist(topic: Topic) -> str:
    if topic.options:
        return f'Of {topic.options[0]} and {topic.options[1]}, try first what is easier to undo, and measure.'
    return f'What is known of {topic.term(0)} is enough for a trial, and not for more.'


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return text.replace('|', '/')


def _join_words(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f'{", ".join(items[:-1])} and {items[-1]}'
