"""Conditions of breakpoints: a small part of Python's expressions as functions, without `eval`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from engine.errors import InvalidInput
from engine.stepping.reader import Evaluation, Moment, Part, Reader, refused
from engine.stepping.values import Unfit

MOST_TEXT = 500
"""Characters of a condition."""

NAMES = {
    'cost': 'dollars that the run has used',
    'tokens': 'tokens that the run has used',
    'seconds': 'of running, as budgets count them',
    'step': "the step's number",
    'disagree': 'whether the latest positions in the debate differ',
    'memory': 'what the run remembers: memory.plan[0].title',
    'state': 'the leaf that was entered; the last one where they are several',
    'entered': 'all states that were entered',
    'left': 'all states that were left',
    'event': 'the name of the event',
    'attempt': 'its number, from 1',
    'loops': 'how often the outermost state that was entered (or left) has been entered',
    'text': 'of the reply, or of the results of tools',
    'tools': 'names of the tools that are about to run',
    'agent': 'the path of the agent',
    'role': 'its role',
    'model': 'its model',
    'error': 'what went wrong',
    'score': 'the score in the answer',
    'data': 'all that the event holds: data.output.summary',
}
"""What a condition may name, and what it is. Where there is no such thing at a step, it is null."""
LASTING = frozenset({'cost', 'tokens', 'seconds', 'step', 'disagree', 'memory'})
"""Names of what lasts from one step to the next; the others are of one step alone."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that has been read."""

    text: str
    names: frozenset[str]
    """Those of `NAMES` that it has."""
    fields: Mapping[str, int]
    """Of memory: those that it names, and the columns where it does."""
    part: Part

    @property
    def lasts(self) -> bool:
        """Whether it looks at nothing but what lasts from one step to the next."""
        return self.names <= LASTING

    def holds(self, moment: Moment) -> bool:
        """Whether it holds.

        Raises:
            Unfit: types do not match, it divides by zero, or it takes too long.
        """
        try:
            return bool(self.part(Evaluation(moment)))
        except Unfit:
            raise
        except RecursionError:
            raise Unfit('it nests too deep') from None
        except Exception as error:
            raise Unfit(f'{type(error).__name__}: {error}'[:200]) from None


@lru_cache(256)
def parsed(text: str) -> Condition:
    """Read a condition.

    A part of Python's expressions: `and`, `or`, `not`; `== != < <= > >= in not in`; `+ - * / // %` on
    numbers, `+` on texts too; texts, numbers, lists, `true`, `false`, `null`; the names in `NAMES`, into
    which `.name` and `[index]` reach as into JSON; the functions in `engine.stepping.values`; and
    `any(item.score < 60 for item in memory.verdicts)`, or `all`.

    What is not there is null. A comparison with it does not hold, whichever it is, except for `x == null` and
    `x != null`; whatever is worked out from it is null.

    Raises:
        InvalidInput: names `when`, the column (from 1), and what there is.
    """
    if len(text) > MOST_TEXT:
        raise InvalidInput({'when': f'must be at most {MOST_TEXT} characters, not {len(text)}'})
    source = re.sub(r'\s', ' ', text)
    indent = len(source) - len(source.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            tree = ast.parse(source.strip(), mode='eval')
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        column = getattr(error, 'offset', None) or len(source.strip()) + 1
        problem = _in_words(source.strip()[column - 1 :], getattr(error, 'msg', ''))
        raise refused(column + indent, problem) from None
    reader = Reader(source, NAMES)
    part = reader.read(tree.body, 0)
    return Condition(text=text, names=frozenset(reader.names), fields=dict(reader.fields), part=part)


def _in_words(rest: str, problem: str) -> str:
    """What Python says of a text that it cannot read from `rest` on, for who knows no Python."""
    if rest.startswith('='):
        return 'two values are compared with =='
    if problem and not problem.startswith('invalid syntax'):
        return problem
    return 'it cannot be read from here on' if rest else 'it ends too early'


def check(text: str, fields: Collection[str]) -> None:
    """Read a condition whose run remembers these fields. Raises `InvalidInput`, as `parsed` does."""
    for name, column in parsed(text).fields.items():
        if name not in fields:
            listed = f'; there are: {", ".join(fields)}' if fields else ''
            raise refused(column, f'memory has no field {name!r}{listed}')
