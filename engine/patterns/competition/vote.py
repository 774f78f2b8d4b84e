"""Vote: several agents answer; answers are counted or judged, and ties broken by a stated rule."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import partial
from typing import Any, Literal

from pydantic import Field

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.patterns.form_fields import task_field
from engine.records import Event
from engine.records.frozen import Form, FrozenModel
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import FINAL_STATES, edge, failure_edges
from engine.statechart.expressions.quoting import RULE, fence
from engine.statechart.memory import Memory as BaseMemory
from engine.statechart.pattern import Pattern

VOTER = 'You answer a question on your own. Work it out before you answer, and keep the answer itself short.'
JUDGE = Role(
    name='judge',
    title='Judge',
    instructions=f'You decide which of several answers is right, by reasons and not by votes. {RULE}',
)


class Answer(FrozenModel):
    """The answer of a voter."""

    answer: str = Field(min_length=1, max_length=2_000, description='The answer itself, as short as possible')
    why: str = Field(default='', description='The reason, in a few sentences')


class Ballot(FrozenModel):
    """A vote, and the ballot in which it was cast."""

    voter: str
    number: int
    """The ballot's number."""
    answer: str
    why: str = ''
    counted: str
    """The normalized answer: without case, surrounding punctuation and white space."""


class Ruling(FrozenModel):
    """The ruling of the judge."""

    answer: str = Field(description='The correct answer, copied verbatim from a voter')
    why: str = Field(default='', description='The reason, in one sentence')


OPENING, CLOSING = '"\'*_`([', '"\'*_`)].,;:!?'
"""Characters to strip around an answer; the sign of a number is not among them."""


def normalize(answer: str) -> str:
    """Normalize an answer for counting: case, white space and surrounding punctuation do not matter."""
    text = ' '.join(unicodedata.normalize('NFKC', answer).casefold().split())
    return text.lstrip(OPENING).rstrip(CLOSING) or text


def ballot_prompt(memory: Any) -> str:
    """Return a voter's prompt; from the second ballot on, it shows all answers of the previous one."""
    previous_ballots = [ballot for ballot in memory.ballots if ballot.number == memory.number - 1]
    if not previous_ballots:
        return f'Question: {memory.task}'
    answers = [fence(ballot.voter, f'{ballot.answer}\n{ballot.why}') for ballot in previous_ballots]
    return '\n\n'.join(
        [f'Question: {memory.task}', 'The last ballot was tied:', RULE, *answers, 'Answer again.']
    )


def cast_ballot(name: str, scope: CallbackContext, event: Event) -> None:
    """Add the answer of voter `name` to the votes."""
    memory: Any = scope.state.memory
    answer = Answer.model_validate(event.data['output'])
    memory.ballots.append(
        Ballot(
            voter=name,
            number=memory.number,
            answer=answer.answer,
            why=answer.why,
            counted=normalize(answer.answer),
        )
    )


def record_absence(name: str, scope: CallbackContext, event: Event) -> None:
    """Record that a voter gave no answer."""
    memory: Any = scope.state.memory
    memory.failed[name] = str(event.data.get('error') or 'it failed')


class Vote(Pattern):
    """Several agents answer the same question; the answers are counted or judged."""

    class Parameters(Form):
        """Launch form parameters."""

        task: str = task_field('Question', 'Each agent answers it independently', 'Is 1,001 a prime number?')
        voters: int = Field(3, ge=2, le=6, title='Voters', description='How many agents answer')
        decided_by: Literal['count', 'judge'] = Field(
            'count',
            title='Decided by',
            description='How the winner is found',
            json_schema_extra={'labels': {'count': 'A count of equal answers', 'judge': 'A judge'}},
        )
        ties: Literal['again', 'judge', 'first'] = Field(
            'again',
            title='Ties',
            description='If several answers have the most votes',
            json_schema_extra={
                'labels': {
                    'again': 'Vote again with all answers in view',
                    'judge': 'A judge decides',
                    'first': 'The answer given first wins',
                }
            },
        )
        max_ballots: int = Field(
            3,
            ge=1,
            le=10,
            title='Ballot limit',
            description='After the last one, the answer given first wins',
        )
        seconds: float = Field(600, gt=0, le=86_400, title='Time', description='Seconds for each answer')

    class Memory(BaseMemory):
        """The ballots and their outcome."""

        task: str = ''
        number: int = 1
        """Number of the current ballot."""
        ballots: list[Ballot] = Field(default_factory=list)
        failed: dict[str, str] = Field(default_factory=dict)
        """Voters without an answer in the latest ballot, and why."""
        tally: dict[str, int] = Field(default_factory=dict)
        """Votes by normalized answer in the latest ballot."""
        answer: str = ''
        why: str = ''
        settled_by: str = ''
        """`count`, `judge` or `first`."""

    family = 'Parallel'
    suits = ('answer', 'true', 'decide', 'classify', 'vote', 'majority', 'correct', 'number')
    initial = 'voting'
    answer = 'answer'
    panels = {'result': {'tally': 'ballots'}}
    words = {
        'has_votes': 'votes cast',
        'is_for_judge': 'up to the judge',
        'is_tied': ('a tie', 'a majority'),
        'may_vote_again': 'another ballot',
        'is_ruled': 'ruled',
    }

    def states(self) -> list[Any]:
        """One region per voter."""
        return [
            {
                'name': 'voting',
                'on_enter': 'open_ballot',
                'parallel': [self._voter(name) for name in self.voters],
            },
            {'name': 'counting', 'on_enter': 'count_votes'},
            agent('judging', JUDGE, output=Ruling, then='adopt_ruling', within=self.parameters.seconds),
            {'name': 'decided', 'final': True},
            {'name': 'undecided', 'final': True, 'outcome': 'failed'},
        ]

    transitions = [
        ['done', 'voting', 'counting', 'has_votes'],
        ['done', 'voting', 'undecided'],
        ['always', 'counting', 'judging', 'is_for_judge'],
        edge('always', 'counting', 'decided', unless='is_tied', before='adopt_majority'),
        edge('always', 'counting', 'voting', 'may_vote_again', before='count_ballot'),
        edge('always', 'counting', 'decided', before='adopt_first'),
        ['done', 'judging', 'decided', 'is_ruled'],
        edge('done', 'judging', 'decided', before='adopt_first'),
        *failure_edges('judging', 'decided', before='adopt_first'),
    ]

    @property
    def voters(self) -> tuple[str, ...]:
        """`voter1`, `voter2`, and so on."""
        return tuple(f'voter{number}' for number in range(1, self.parameters.voters + 1))

    def has_votes(self, memory: Any, event: Event) -> bool:
        """Somebody has answered."""
        return bool(self._votes(memory))

    def is_tied(self, memory: Any, event: Event) -> bool:
        """Several answers are tied for the most votes."""
        return list(memory.tally.values()).count(max(memory.tally.values())) > 1

    def is_for_judge(self, memory: Any, event: Event) -> bool:
        """The judge decides, either always or because there is a tie."""
        by_judge = self.parameters.decided_by == 'judge'
        return by_judge or (self.parameters.ties == 'judge' and self.is_tied(memory, event))

    def may_vote_again(self, memory: Any, event: Event) -> bool:
        """Ties are settled by another ballot, and the limit allows one more."""
        return bool(self.parameters.ties == 'again' and memory.number <= self.parameters.max_ballots - 1)

    def is_ruled(self, memory: Any, event: Event) -> bool:
        """The judge named an answer that somebody gave."""
        return bool(memory.answer)

    def open_ballot(self, memory: Any, event: Event) -> None:
        """Start a ballot, with nobody failed."""
        memory.failed = {}

    def count_ballot(self, memory: Any, event: Event) -> None:
        """Move on to the next ballot."""
        memory.number += 1

    def count_votes(self, memory: Any, event: Event) -> None:
        """Count equal answers."""
        memory.tally = dict(Counter(ballot.counted for ballot in self._votes(memory)).most_common())

    def adopt_majority(self, memory: Any, event: Event) -> None:
        """Choose the answer with the most votes."""
        self._decide(memory, max(memory.tally, key=memory.tally.get), 'count')

    def adopt_first(self, memory: Any, event: Event) -> None:
        """Choose the tied answer of the voter listed first."""
        most = max(memory.tally.values())
        tied = {answer for answer, votes in memory.tally.items() if votes == most}
        first = next(ballot.counted for ballot in self._votes(memory) if ballot.counted in tied)
        self._decide(memory, first, 'first')

    def adopt_ruling(self, memory: Any, event: Event) -> None:
        """Adopt the judge's ruling if it names an answer that was given."""
        ruling = Ruling.model_validate(event.data['output'])
        if normalize(ruling.answer) in memory.tally:
            self._decide(memory, normalize(ruling.answer), 'judge')
            memory.why = ruling.why

    def prompt_judging(self, memory: Any) -> str:
        """Return the judge's prompt: every voter's answer with its reason."""
        answers = [fence(ballot.voter, f'{ballot.answer}\n{ballot.why}') for ballot in self._votes(memory)]
        return '\n\n'.join([f'Question: {memory.task}', *answers, 'Which answer is right?'])

    def _decide(self, memory: Any, counted: str, settled_by: str) -> None:
        ballot = next(ballot for ballot in self._votes(memory) if ballot.counted == counted)
        memory.answer, memory.why, memory.settled_by = ballot.answer, ballot.why, settled_by

    def _votes(self, memory: Any) -> list[Ballot]:
        """The votes of the latest ballot, in the order of the voters."""
        votes = [ballot for ballot in memory.ballots if ballot.number == memory.number]
        return sorted(votes, key=lambda ballot: self.voters.index(ballot.voter))

    def _voter(self, name: str) -> dict[str, Any]:
        role = Role(name=name, title=name.capitalize(), instructions=VOTER, tools=('calculator',))
        return {
            'name': name,
            'initial': 'answering',
            'children': [
                agent(
                    'answering',
                    role,
                    output=Answer,
                    prompt=ballot_prompt,
                    then=partial(cast_ballot, name),
                    within=self.parameters.seconds,
                ),
                *FINAL_STATES,
            ],
            'transitions': [
                ['done', 'answering', 'done'],
                *failure_edges('answering', 'failed', after=partial(record_absence, name)),
            ],
        }
