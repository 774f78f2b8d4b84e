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
        return f'This came back. I will reread my notes on {topic.term(0)} and address each point.'
    number = f' The task gives {_join_words(topic.numbers[:3])}, which I can check.' if topic.numbers else ''
    return f'Regarding {topic.about}, I will focus on {_join_words(topic.terms[:3])}.{number}'


def plan(topic: Topic) -> str:
    """Return an initial note."""
    return (
        f'1. What exactly does the task ask about {topic.term(0)}?\n'
        f'2. What would have to be true for this to be worth doing?\n'
        f'3. What are the arguments against it, and what are the alternatives for {topic.term(1)}?'
    )


def suggestions(topic: Topic, role: str, visit: int, worked_out: str) -> Mapping[str, Any]:
    """Return values by field name, used wherever the schema has the field and they fit."""
    good = visit > 1
    remarks = [] if good else _remarks(topic)
    verdict = (
        f'This answers the task on {topic.term(0)} and is ready to deliver.'
        if good
        else f'A good start on {topic.term(0)}, but not yet specific enough to act on.'
    )
    return {
        **dict.fromkeys(VERDICTS, good),
        'score': 88 if good else 63,
        'comments': remarks,
        'summary': verdict if role in ('reviewer', 'critic', 'judge') else _gist(topic),
        'findings': _facts(topic, worked_out),
        'sources': ['The task itself', *(['My own calculation'] if worked_out else [])],
        'open_questions': [
            f'Who decides on {topic.term(0)}, and by when?',
            f'What figures do we have on {topic.term(1)}, and how recent are they?',
        ],
        'options': list(topic.options),
        'approach': f'Gather the facts about {topic.term(0)}, draw conclusions, then write them up.',
        'tasks': _tasks(topic),
        'success': True,
        'output': contribution(topic, role, visit, worked_out),
    }


def _tasks(topic: Topic) -> list[dict[str, Any]]:
    """Return a plan for a team."""
    plan = (
        ('facts', 'researcher', f'Gather the known facts about {topic.term(0)}.', ()),
        ('costs', 'researcher', f'Find out the current cost of {topic.term(1)}.', ()),
        ('choice', 'analyst', f'Compare the options for {topic.term(0)}.', ('facts', 'costs')),
        ('note', 'writer', f'Write a note about {topic.about}.', ('choice',)),
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
        f'Before spending anything on {term}, agree on what has to be true.',
        f'For {term}, start with the smallest version that can be evaluated.',
        f'Compare {term} with current practice.',
        f'For {term}, name an owner and a date.',
    )
    sentence = sentences[index % len(sentences)]
    return sentence if index < len(sentences) else f'{sentence} ({word} {index + 1})'


def first_draft(topic: Topic, findings: Sequence[str], worked_out: str) -> str:
    """Return a first answer: short, with a list."""
    facts = findings[:5] or _facts(topic, worked_out)
    options = '\n'.join(f'- **{name}**: {reason}' for name, reason in _options(topic))
    return (
        f'# {topic.heading}\n\n'
        f'**In short:** {_gist(topic)}\n\n'
        f'## What is known\n\n' + '\n'.join(f'- {fact}' for fact in facts) + '\n\n'
        f'## Options\n\n{options}\n\n'
        f'## Conclusion\n\n'
        f'Start with the smallest step that yields information about {topic.term(0)}, and decide on the rest '
        f'once the result is in.\n'
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
        for (name, reason), cost in zip(_options(topic), ('highest', 'low', 'none for now'), strict=False)
    )
    facts = '\n'.join(f'{number}. {fact}' for number, fact in enumerate(findings[:3], start=1))
    evidence = f'## Evidence\n\n{facts}\n\n' if facts else ''
    figure = f'{worked_out} ' if worked_out else ''
    return (
        f'# {topic.heading} (version {visit})\n\n'
        f'**Decision:** try {topic.term(0)} on a small scale first, and set a date to evaluate it.\n\n'
        f'## Changes since the review\n\n| Comment | Response |\n|---|---|\n{answered}\n\n'
        f'## Options compared\n\n| Option | Consideration | Upfront cost |\n|---|---|---|\n'
        f'{compared}\n\n'
        f'{evidence}'
        f'## When to stop\n\n'
        f'{figure}If the trial shows no clear benefit for {topic.term(1)} by the agreed date, end it and '
        f'keep the lessons. Otherwise, take the next step and evaluate again.\n\n'
        f'## Responsibilities\n\n'
        f'1. One person is responsible for {topic.term(0)} and reports on progress.\n'
        f'2. Before the trial, the people who deal with {topic.term(1)} every day define success.\n'
        f'3. The budget owner decides on the agreed date.\n'
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
    number = '' if visit == 1 else f', round {visit}'
    head = f'{_capitalize(who)} on {topic.about}{number}:'
    return f'{head}\n\n{lines}\n' + (f'\n{worked_out}\n' if worked_out else '')


def _for(topic: Topic) -> tuple[str, ...]:
    return (
        f'The benefits of {topic.term(0)} are felt every day, while most of the cost is paid once.',
        f'A trial of {topic.term(0)} can be stopped at any time, so the risk is small and known.',
        f'Waiting is not free: doing nothing about {topic.term(1)} costs money every month.',
        f'Most objections to {topic.term(0)} concern the how rather than the whether.',
        f'Nobody has presented any figures against {topic.term(1)}.',
    )


def _against(topic: Topic) -> tuple[str, ...]:
    return (
        f'The benefits of {topic.term(0)} are hoped for, but the costs are certain.',
        f'A trial of {topic.term(0)} ties up people who are needed for {topic.term(1)}.',
        'Once started, a trial rarely ends on the agreed date.',
        f'A smaller step would tell us as much about {topic.term(0)}, but nobody has considered one.',
        f'Nobody has presented any figures in support of {topic.term(1)}.',
    )


def _neutral(topic: Topic) -> tuple[str, ...]:
    return (
        f'What matters is the effect of {topic.term(0)} on the people involved, and that has to be measured.',
        f'Any decision about {topic.term(1)} should stay reversible until its effects are understood.',
        f'The cost of doing nothing about {topic.term(2)} belongs in the comparison too.',
        f'We know enough about {topic.term(0)} for a first step, but not for a final decision.',
        f'Most objections to {topic.term(1)} concern the how rather than the whether.',
    )


def _facts(topic: Topic, worked_out: str) -> list[str]:
    facts = [
        f'The question hinges on {_join_words(topic.terms[:3])}.',
        f'The upfront and annual costs of {topic.term(0)} should be kept separate.',
        'Any gain can only be measured against the current situation.',
    ]
    if topic.options:
        facts.insert(1, f'The task names these alternatives: {_join_words(topic.options)}.')
    if topic.numbers:
        facts.append(f'The task gives these figures: {_join_words(topic.numbers[:5])}.')
    return [*facts, worked_out] if worked_out else facts


def _remarks(topic: Topic) -> list[str]:
    return [
        f'State the upfront and annual costs of {topic.term(0)}, or say that they are unknown.',
        f'Compare the options side by side: the text mentions {topic.term(1)} but weighs no alternatives.',
        'Say when to stop and who makes that decision.',
    ]


def _reply(topic: Topic, number: int) -> str:
    replies = (
        f'Upfront and annual costs are now separate; the trial of {topic.term(0)} measures both',
        'A table compares the options',
        'New sections cover when to stop and who decides',
        f'The part on {topic.term(1)} has been rewritten',
    )
    return replies[number % len(replies)]


def _options(topic: Topic) -> list[tuple[str, str]]:
    if topic.options:
        first, second = topic.options[:2]
        return [
            (_capitalize(first), 'what counts is the total cost over the years, not the price'),
            (_capitalize(second), 'the same measure applies, over the same period'),
            ('Decide later', 'nothing is lost while the figures are collected'),
        ]
    return [
        ('Do everything at once', f'settles the question of {topic.term(0)} for good or ill'),
        ('Run a small trial', 'a cheap way to learn'),
        ('Leave things as they are', 'nothing to pay for or to explain'),
    ]


def _gist(topic: Topic) -> str:
    if topic.options:
        return f'Of {topic.options[0]} and {topic.options[1]}, first try the one easier to undo, and measure.'
    return f'We know enough about {topic.term(0)} to run a trial, but not to commit to more.'


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return text.replace('|', '/')


def _join_words(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f'{", ".join(items[:-1])} and {items[-1]}'
