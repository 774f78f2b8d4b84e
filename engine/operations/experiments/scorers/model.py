"""Model: a scorer that has an agent judge a run, in a run of its own that can be read."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import Field
from typing_extensions import override

from engine.errors import ToolError
from engine.operations.experiments.records import Score, digest_of
from engine.operations.experiments.scorers.base import Evidence
from engine.operations.experiments.scorers.facts import AnswerScorer
from engine.records import Launch, Status

JUDGE = 'judge'
"""The pattern whose runs judge others."""
VERDICTS = {'first': 1.0, 'second': 0.0, 'tie': 0.5}
MAX_TITLE_TASK = 80
SAMPLE: Final = {'task': 'The task', 'answer': 'The answer', 'rubric': 'The rubric'}


class Model(AnswerScorer):
    """Has an agent score the answer by a rubric, or compare it with that of the first variant."""

    rubric: str = Field(min_length=1, max_length=20_000)
    """What makes an answer good, in words."""
    model: str = Field('', max_length=200)
    """The model of the judge; by default the simulated one."""
    compare: bool = False
    """Whether to compare the answer with that of the first variant, once in each order: 1 if it is found to
    be better both times, 0.5 if the verdicts differ. The first variant itself then scores 0.5."""
    expectation: bool = True
    """Whether the judge sees what the case expects."""

    @property
    @override
    def compares(self) -> bool:
        """Whether it compares a run with that of the first variant."""
        return self.compare

    @property
    @override
    def judge(self) -> Launch:
        """A launch like those of the runs that judge for it."""
        return Launch(pattern=JUDGE, parameters=SAMPLE, models=self._models)

    @property
    def _models(self) -> dict[str, str]:
        return {'': self.model} if self.model else {}

    @override
    async def score(self, evidence: Evidence) -> Score:
        if self.compare and evidence.is_first:
            return Score(value=0.5, reason='it is what the others are compared with')
        other = evidence.other
        if self.compare and other is None:
            return Score(reason='the run that it is compared with has not ended', waits=True)
        if self.compare and other and other.info.status is not Status.DONE:
            raise ToolError(f'the run that it is compared with is {other.info.status}')
        parameters = self._parameters(evidence, self.text(other) if self.compare and other else '')
        outcome = await evidence.bench.judge(
            digest_of(evidence.key),
            Launch(
                pattern=JUDGE,
                parameters=parameters,
                models=self._models,
                title=f'Judge {evidence.info.title}'[: MAX_TITLE_TASK + 6],
                private=evidence.private,
            ),
        )
        if outcome.status is not Status.DONE:
            raise ToolError(f'the run of the judge is {outcome.status}: {outcome.error}')
        memory = outcome.memory
        value = VERDICTS[memory['verdict']] if self.compare else float(memory['score']) / 100
        return Score(value=value, reason=str(memory['why']), runs=(outcome.run,))

    def _parameters(self, evidence: Evidence, other: str) -> dict[str, Any]:
        given = evidence.info.parameters
        task = given.get('task')
        expected = evidence.case.expectation if self.expectation else None
        return {
            'task': task if isinstance(task, str) else _text(given),
            'answer': self.text(evidence),
            'other': other,
            'rubric': self.rubric,
            'expected': '' if expected is None else _text(expected),
        }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
