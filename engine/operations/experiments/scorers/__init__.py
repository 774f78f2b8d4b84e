"""Scorers: the kinds there are, how their settings are checked, and how a run is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final

from pydantic import ValidationError

from engine.errors import EngineError, FilesUnavailable, InvalidInput, JournalUnavailable
from engine.operations.experiments.records import Score, ScorerSpec, digest_of
from engine.operations.experiments.scorers.base import Evidence, Judged, Scorer
from engine.operations.experiments.scorers.facts import Contains, Equal, Number, Regex, Schema, StatusScorer
from engine.operations.experiments.scorers.model import Model
from engine.operations.experiments.scorers.path import PathScorer
from engine.operations.experiments.scorers.people import People, latest_marks
from engine.operations.experiments.scorers.python import Python, scorer
from engine.operations.experiments.scorers.work import Command, File, PassingTests
from engine.records import Status
from engine.statechart.pattern import validation_problems

__all__ = [
    'KINDS',
    'Evidence',
    'Judged',
    'Scorer',
    'latest_marks',
    'read_scorers',
    'score_run',
    'scorer',
    'scorers_digest',
]

KINDS: Final[Mapping[str, type[Scorer]]] = {
    'status': StatusScorer,
    'equal': Equal,
    'contains': Contains,
    'regex': Regex,
    'schema': Schema,
    'number': Number,
    'file': File,
    'command': Command,
    'tests': PassingTests,
    'path': PathScorer,
    'model': Model,
    'people': People,
    'python': Python,
}
"""The kinds of scorers."""


def read_scorers(specs: Sequence[ScorerSpec]) -> dict[str, Scorer]:
    """Return the scorers by name. Raises `InvalidInput`, which names each wrong setting."""
    scorers: dict[str, Scorer] = {}
    problems: dict[str, str] = {}
    for place, spec in enumerate(specs):
        at = f'scorers.{place}'
        if spec.name in scorers:
            problems[f'{at}.name'] = f'there are two scorers {spec.name!r}'
        if spec.kind not in KINDS:
            problems[f'{at}.kind'] = f'there is no kind {spec.kind!r}; available: {", ".join(KINDS)}'
            continue
        try:
            scorers[spec.name] = KINDS[spec.kind].model_validate(dict(spec.settings))
        except ValidationError as error:
            for name, problem in validation_problems(error).items():
                problems[f'{at}.settings{f".{name}" if name != "parameters" else ""}'] = problem
    if problems:
        raise InvalidInput(problems)
    return scorers


def scorers_digest(specs: Sequence[ScorerSpec]) -> str:
    """Return a digest of scorers: runs scored by others have to be scored again."""
    return digest_of([asdict(spec) for spec in specs])


async def score_run(scorers: Mapping[str, Scorer], evidence: Evidence) -> dict[str, Score]:
    """Score a run by all scorers; one that fails leaves it not scored, with the reason.

    Raises:
        JournalUnavailable, FilesUnavailable: worth trying again.
    """
    has_failed = evidence.info.status is not Status.DONE
    return {
        name: await _score(scorer, replace(evidence, key=f'{evidence.key}/{name}'))
        for name, scorer in scorers.items()
        if scorer.judges_failures or not has_failed
    }


async def _score(scorer: Scorer, evidence: Evidence) -> Score:
    try:
        return await scorer.score(evidence)
    except (JournalUnavailable, FilesUnavailable):
        raise
    except EngineError as error:
        return Score(reason=str(error))
    except Exception as error:  # whatever a run has answered, one scorer must not end the experiment
        return Score(reason=f'{type(error).__name__}: {error}'[:1_000])
