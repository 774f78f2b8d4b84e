"""Facts: scorers that compare what a run has answered with what its case expects."""

from __future__ import annotations

import json
import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator
from typing_extensions import override

from engine.errors import ToolError
from engine.operations.experiments.records import Miss, Score
from engine.operations.experiments.scorers.base import (
    AnyEndScorer,
    Evidence,
    Scorer,
    decide,
    decide_by,
)
from engine.operations.experiments.scorers.bounded import check_apart
from engine.records import Status
from engine.records.jsonable import shorten

MAX_TEXT = 1_000_000
"""Maximum number of characters of a text that a regular expression searches."""
REGEX_SECONDS, SCHEMA_SECONDS = 5.0, 20.0
"""Time limits of a regular expression and of a JSON Schema, which may hold some."""
NUMBER = re.compile(r'[-+\u2212]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,400})(?:\.\d{1,400})?(?:[eE][-+]?\d{1,4})?')
"""A number in a text."""


def _pointer(value: str) -> str:
    if value and not value.startswith('/'):
        raise ValueError(f'must be a JSON Pointer such as /plan/0/title, or empty, not {value!r}')
    return value


Pointer = Annotated[str, Field(max_length=500), AfterValidator(_pointer)]


class StatusScorer(Scorer):
    """Whether the run ended as it should; it scores failed runs too."""

    status: tuple[Status, ...] = (Status.DONE,)
    caveat: bool = True
    """Whether a result may fall short of what was asked."""

    @override
    async def score(self, evidence: Evidence) -> Score:
        info, view = evidence.info, evidence.fold.view
        if info.status not in self.status:
            why = view.stopped or info.error or view.error
            came = f'{info.status}{f": {why}" if why else ""}'
            return decide_by([Miss(what='status', wanted=' or '.join(self.status), came=came, step=view.seq)])
        if info.done_with_issues and not self.caveat:
            return decide_by([Miss(what='status', wanted='no caveat', came=info.error, step=view.seq)])
        return decide(True, info.error or f'its status is {info.status}')

    @property
    @override
    def judges_failures(self) -> bool:
        """Whether it also scores runs that did not end well."""
        return True


class AnswerScorer(AnyEndScorer):
    """Looks at the answer of a run."""

    of: Pointer = ''
    """What of the run's memory to look at, as a JSON Pointer; by default its answer."""

    def text(self, evidence: Evidence) -> str:
        """Return it as text."""
        value = evidence.value(self.of)
        if value is None:
            raise ToolError('the run has no answer')
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        if len(text) > MAX_TEXT:
            raise ToolError(f'the answer is longer than {MAX_TEXT:,} characters')
        return text


class ExpectationScorer(AnswerScorer):
    """Compares the answer with a value, by default with what its case expects."""

    value: Any = None
    """What to compare with; by default what the case expects."""
    expected: Pointer = ''
    """What of the case's expectation to compare with, as a JSON Pointer."""

    def wanted(self, evidence: Evidence) -> Any:
        """Return what to compare with. Raises `ToolError`."""
        return evidence.expected(self.expected) if self.value is None else self.value

    def miss(self, wanted: Any, came: Any, evidence: Evidence) -> Miss:
        """Return what was expected, and what came instead."""
        what = self.of or 'answer'
        return Miss(what=what, wanted=shorten(wanted), came=shorten(came), step=evidence.fold.view.seq)


class Equal(ExpectationScorer):
    """Whether the answer is what was expected; white space around texts does not count.

    Where one of the two is a text and the other is not, the text is read as JSON: tables have only texts.
    """

    case_matters: bool = True

    @override
    async def score(self, evidence: Evidence) -> Score:
        wanted, came = self.wanted(evidence), evidence.value(self.of)
        one, two = self._plain(wanted), self._plain(came)
        if isinstance(one, str) is not isinstance(two, str):
            one, two = _from_json(one), _from_json(two)
        same = one == two and isinstance(one, bool) is isinstance(two, bool)
        return decide_by([] if same else [self.miss(wanted, came, evidence)])

    def _plain(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return value.strip() if self.case_matters else value.strip().casefold()


def _from_json(value: Any) -> Any:
    """Return what a text says in JSON; a text that is no JSON, and anything else, as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


class Contains(ExpectationScorer):
    """Whether the answer contains a text, or each text of a list: the share that it contains."""

    case_matters: bool = False

    @override
    async def score(self, evidence: Evidence) -> Score:
        wanted, text = self.wanted(evidence), self.text(evidence)
        parts = [_as_text(part) for part in (wanted if isinstance(wanted, list | tuple) else [wanted])]
        if not parts:
            raise ToolError('nothing is expected')
        searched = text if self.case_matters else text.casefold()
        missing = [part for part in parts if (part if self.case_matters else part.casefold()) not in searched]
        reason = f'without {", ".join(shorten(part) for part in missing)}' if missing else ''
        misses = tuple(self.miss(part, text, evidence) for part in missing)
        return Score(value=1 - len(missing) / len(parts), reason=reason, misses=misses)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Regex(AnswerScorer):
    """Whether a regular expression, in the syntax of Python, is found in the answer."""

    pattern: str = Field(min_length=1, max_length=2_000)
    found: bool = True
    """Whether it should be found; if not, whether it should be absent."""

    @field_validator('pattern')
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f'is not a regular expression: {error}') from None
        return value

    @override
    async def score(self, evidence: Evidence) -> Score:
        program = (
            'import re\nfound = re.search(*given, re.MULTILINE)\nprint(json.dumps(found and found[0][:200]))'
        )
        match = await check_apart(program, [self.pattern, self.text(evidence)], seconds=REGEX_SECONDS)
        return decide((match is not None) is self.found, f'found {match!r}' if match else 'not found')


class Schema(AnswerScorer):
    """Whether the answer, or the JSON that it is the text of, fits a JSON Schema."""

    json_schema: dict[str, Any] = Field(alias='schema')

    @override
    async def score(self, evidence: Evidence) -> Score:
        value = evidence.value(self.of)
        if isinstance(value, str):
            try:
                value = json.loads(_unfence(value))
            except (ValueError, RecursionError):
                return decide(False, 'it is not JSON')
        problem = await check_apart(SCHEMA, [self.json_schema, value], seconds=SCHEMA_SECONDS, packages=True)
        if problem.get('schema'):
            raise ToolError(f'the schema is wrong: {problem["schema"]}')
        return decide(not problem, problem.get('value', ''))


SCHEMA = """
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry
schema, value = given
try:
    Draft202012Validator.check_schema(schema)
    worst = best_match(Draft202012Validator(schema, registry=Registry()).iter_errors(value))
    print(json.dumps({'value': f'{worst.json_path}: {worst.message}'[:500]} if worst else {}))
except SchemaError as error:
    print(json.dumps({'schema': error.message[:500]}))
"""


def _unfence(text: str) -> str:
    match = re.fullmatch(r'\s*```(?:json)?\n(.*?)\n```\s*', text, re.DOTALL)
    return match[1] if match else text


class Number(ExpectationScorer):
    """Whether the number in the answer is within a distance of the expected one."""

    within: float = Field(0.0, ge=0, allow_inf_nan=False)
    share: bool = False
    """Whether `within` is a share of the expected number: 0.05 for 5 %."""
    last: bool = True
    """Of several numbers in a text, whether the last one counts; otherwise the first."""

    @override
    async def score(self, evidence: Evidence) -> Score:
        wanted = _number(self.wanted(evidence), self.last)
        if wanted is None:
            raise ToolError('no number is expected')
        came = _number(evidence.value(self.of), self.last)
        if came is None:
            return decide(False, 'there is no number')
        distance = abs(came - wanted)
        allowed = self.within * abs(wanted) if self.share else self.within
        return decide(distance <= allowed + 1e-9 * abs(wanted), f'{came:g}, and {wanted:g} was expected')


def _number(value: Any, last: bool) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    if not isinstance(value, str):
        return None
    numbers = NUMBER.findall(value[:MAX_TEXT])
    if not numbers:
        return None
    number = float(numbers[-1 if last else 0].replace(',', '').replace('\u2212', '-'))
    return number if math.isfinite(number) else None
