"""Judge: scores an answer by a rubric, or compares two answers, once in each order."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from typing_extensions import override

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.patterns.form_fields import LongText, task_field
from engine.records import Event
from engine.records.frozen import Form, FrozenModel
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import failure_edges
from engine.statechart.expressions.quoting import RULE, fence
from engine.statechart.memory import Memory as BaseMemory
from engine.statechart.pattern import Pattern

MAX_ANSWER = 200_000
JUDGE = Role(
    name='judge',
    title='Judge',
    instructions=(
        'You judge answers by a rubric, and by nothing else: neither the length of an answer nor its tone '
        f'counts, unless the rubric says so. {RULE}'
    ),
)


class Rating(FrozenModel):
    """What an answer is worth."""

    why: str = Field(min_length=1, description='The reasons, by the points of the rubric, in a few sentences')
    score: int = Field(ge=0, le=100, description='From 0, useless, to 100, all that the rubric asks for')


class Preference(FrozenModel):
    """Which of two answers is better."""

    why: str = Field(min_length=1, description='The reasons, by the points of the rubric, in a few sentences')
    better: Literal['A', 'B', 'neither'] = Field(description='The better answer')


def question(memory: Any, *answers: tuple[str, str]) -> str:
    """Return the task, the rubric, what is expected, and the answers with their labels."""
    parts = [fence('the task', memory.task), f'Rubric:\n{memory.rubric}']
    if memory.expected:
        parts.append(fence('what is expected', memory.expected))
    return '\n\n'.join([*parts, *(fence(label, answer) for label, answer in answers)])


def adopt_rating(scope: CallbackContext, event: Event) -> None:
    """Store the score."""
    memory: Any = scope.state.memory
    rating = Rating.model_validate(event.data['output'])
    memory.score, memory.why = rating.score, rating.why
    memory.ruling = f'{rating.score} of 100: {rating.why}'


def note_preference(scope: CallbackContext, event: Event) -> None:
    """Store which answer is better in the first order."""
    memory: Any = scope.state.memory
    preference = Preference.model_validate(event.data['output'])
    memory.preferred = {'A': 'first', 'B': 'second'}.get(preference.better, 'tie')
    memory.why = preference.why


def adopt_preference(scope: CallbackContext, event: Event) -> None:
    """Store the verdict: an answer is better if it is in both orders."""
    memory: Any = scope.state.memory
    preference = Preference.model_validate(event.data['output'])
    swapped = {'A': 'second', 'B': 'first'}.get(preference.better, 'tie')
    memory.verdict = swapped if swapped == memory.preferred else 'tie'
    if swapped != memory.preferred:
        memory.why = f'The verdict depends on the order.\n{memory.why}\n{preference.why}'
    named = {
        'first': 'The answer is better',
        'second': 'The other answer is better',
        'tie': 'Neither is better',
    }
    memory.ruling = f'{named[memory.verdict]}: {memory.why}'


class Judge(Pattern):
    """A judge scores an answer by a rubric, or compares it with another one, once in each order."""

    class Parameters(Form):
        """Launch form parameters."""

        task: str = task_field('Task', 'What was to be answered', 'Is 1,001 a prime number?')
        answer: LongText = Field(
            min_length=1, max_length=MAX_ANSWER, title='Answer', description='The answer to judge',
            examples=['No: it is 7 × 11 × 13.'],
        )  # fmt: skip
        other: LongText = Field(
            '',
            max_length=MAX_ANSWER,
            title='Other answer',
            description='One to compare it with; if empty, the answer is scored',
        )
        rubric: LongText = Field(
            'The answer is right, complete and easy to understand.',
            min_length=1,
            max_length=20_000,
            title='Rubric',
            description='What makes an answer good',
        )
        expected: LongText = Field(
            '',
            max_length=MAX_ANSWER,
            title='Expected',
            description='What is known to be right, if anything is',
        )

    class Memory(BaseMemory):
        """What is judged, and the ruling."""

        task: str = ''
        answer: str = ''
        other: str = ''
        rubric: str = ''
        expected: str = ''
        preferred: str = ''
        """The better answer in the first order: `first`, `second` or `tie`."""
        verdict: str = ''
        """The better answer in both orders: `first` is the answer, `second` the other; otherwise `tie`."""
        score: int = 0
        """From 0 to 100, if there was no other answer."""
        why: str = ''
        ruling: str = ''

    suits = ('judge', 'score', 'grade', 'rubric', 'evaluate')
    initial = 'called'
    answer = 'ruling'
    panels = {'result': {'ruling': 'why'}}
    words = {'has_another': 'two answers'}

    states = (
        {'name': 'called'},
        agent('scoring', JUDGE, output=Rating, then=adopt_rating),
        agent('comparing', JUDGE, output=Preference, then=note_preference),
        agent('comparing_swapped', JUDGE, output=Preference, then=adopt_preference),
        {'name': 'judged', 'final': True},
        {'name': 'unjudged', 'final': True, 'outcome': 'failed'},
    )
    transitions = (
        ['always', 'called', 'comparing', 'has_another'],
        ['always', 'called', 'scoring'],
        ['done', 'scoring', 'judged'],
        ['done', 'comparing', 'comparing_swapped'],
        ['done', 'comparing_swapped', 'judged'],
        *failure_edges(['scoring', 'comparing', 'comparing_swapped'], 'unjudged'),
    )

    @property
    @override
    def task(self) -> str:
        """What was to be answered, however long the answers are."""
        return str(self.parameters.task)

    def has_another(self, memory: Any, event: Event) -> bool:
        """There is another answer to compare it with."""
        return bool(memory.other)

    def prompt_scoring(self, memory: Any) -> str:
        """The answer to score."""
        return f'{question(memory, ("the answer", memory.answer))}\n\nScore the answer.'

    def prompt_comparing(self, memory: Any) -> str:
        """Both answers."""
        both = question(memory, ('answer A', memory.answer), ('answer B', memory.other))
        return f'{both}\n\nSay which answer is better.'

    def prompt_comparing_swapped(self, memory: Any) -> str:
        """Both answers in the other order."""
        both = question(memory, ('answer A', memory.other), ('answer B', memory.answer))
        return f'{both}\n\nSay which answer is better.'
