"""Mistakes in a pattern are found when its class is created, and the message locates them."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest
from pydantic import BaseModel

from engine import Catalog, Pattern, PatternError
from engine.agents.chart import agent
from engine.statechart.validation import accepts_arguments

STATES: list[Any] = ['a', {'name': 'end', 'final': True}]
EDGES: list[Any] = [['go', 'a', 'end']]
INNER = {'name': 'in', 'initial': 'x', 'children': ['x', 'y']}


class Methods(Pattern):
    """Methods that the mistakes below refer to."""

    def guard(self, memory: Any, event: Any) -> bool:
        return True

    def narrow(self, memory: Any) -> bool:
        return True

    async def work(self, memory: Any, activity: Any) -> None: ...


class Shapes:
    """Kinds of signatures."""

    def two(self, memory: Any, event: Any) -> None: ...

    def two_or_one(self, memory: Any, event: Any = None) -> None: ...

    def any(self, *fields: Any, **named: Any) -> None: ...

    def named(self, memory: Any, *, event: Any) -> None: ...

    def named_with_a_default(self, memory: Any, *, event: Any = None) -> None: ...

    def by_place(self, memory: Any, event: Any, /, *more: Any) -> None: ...

    @classmethod
    def of_the_class(cls, memory: Any) -> None: ...

    @staticmethod
    def of_none(memory: Any) -> None: ...

    @functools.wraps(two)
    def wrapped(self, *fields: Any) -> None: ...

    partial = functools.partialmethod(two, None)


METHODS = {name: getattr(Shapes(), name) for name in vars(Shapes) if not name.startswith('_')}
PLAIN = {f'plain {name}': getattr(Shapes, name) for name in METHODS}
BEGUN = {f'partial {name}': functools.partial(method, 1) for name, method in (METHODS | PLAIN).items()}
NAMED = {
    'partial by name': functools.partial(METHODS['two'], event=1),
    'partial of a partial': functools.partial(BEGUN['partial plain two'], 2),
    'partial of a class': functools.partial(Shapes),
}


def test_accepted_arguments_match_the_signature_of_a_callback() -> None:
    for name, method in (METHODS | PLAIN | BEGUN | NAMED).items():
        for count in range(4):
            try:
                inspect.signature(method).bind(*[None] * count)
                bound = True
            except TypeError:
                bound = False
            assert accepts_arguments(method, count) is bound, (name, count)


def make_pattern(states: Any = STATES, transitions: Any = EDGES, **attributes: Any) -> type[Pattern]:
    return type(
        'Wrong', (Methods,), {'initial': 'a', 'states': states, 'transitions': transitions, **attributes}
    )


def test_a_valid_pattern_passes() -> None:
    make_pattern(
        [*STATES, INNER],
        [*EDGES, ['go', 'in.x', 'in.y', 'guard'], ['stop', '*', 'end', ['guard'], None, 'guard']],
    )


@pytest.mark.parametrize(
    ('states', 'edges', 'says'),
    [
        (
            STATES,
            [['go', 'a', 'end', lambda memory: True]],
            r"'<lambda>' \(named as conditions\) must take memory",
        ),
        (['a', 'a'], EDGES, "state 'a': there are two states of this name"),
        (['b'], [['go', 'b', 'b']], "initial: it names no state: 'a'"),
        (['a', {'nam': 'b'}], EDGES, 'a state needs a name'),
        (['a', {'name': 'b.c'}], EDGES, "a name of letters, .*, not 'b.c'"),
        ([{'name': 'a:b'}, *STATES], EDGES, "a name of letters, .*, not 'a:b'"),
        (['a', 'b', *STATES[1:]], EDGES, "state 'b': nothing leads out of it"),
        (
            ['a', 'b', {**INNER, 'transitions': [['go', '*', 'y']]}, *STATES[1:]],
            EDGES,
            "state 'b': nothing leads out of it",
        ),
        (['a', 7], EDGES, 'a state needs a name'),
        ({'a': 1}, EDGES, 'it must be a list of states'),
        ([*STATES, {'name': 'b', 'colour': 'red'}], EDGES, "state 'b': unknown key 'colour'"),
        (
            [*STATES, {**INNER, 'initial': 'z'}],
            EDGES,
            r"state 'in': initial must name one of \['x', 'y'\], not 'z'",
        ),
        ([*STATES, {**INNER, 'children': ['x', {}]}], EDGES, "state 'in': a state needs a name"),
        ([*STATES, {'name': 'b', 'final': True, 'outcome': 'maybe'}], EDGES, "state 'b': outcome is"),
        (
            [*STATES, {'name': 'b', 'final': True, 'invoke': 'work'}],
            EDGES,
            "state 'b': a final state holds nothing",
        ),
        (
            [*STATES, {**INNER, 'invoke': 'work'}],
            EDGES,
            "state 'in': a state with children cannot invoke anything",
        ),
        ([*STATES, {'name': 'b', 'within': -1}], EDGES, "state 'b': within is a number of seconds above 0"),
        ([*STATES, {'name': 'b', 'retry': 3}], EDGES, "state 'b': retry is an engine.Retry, not 3"),
        (
            [*STATES, {'name': 'b', 'invoke': 'work'}],
            EDGES,
            "state 'b': its activity ends in `done`, which no edge",
        ),
        (
            [*STATES, {'name': 'b', 'invoke': 'nothing'}],
            EDGES,
            r"state 'b': there is no method 'nothing' \(named as invoke\)",
        ),
        ([*STATES, {'name': 'b', 'invoke': 'guard'}], EDGES, "state 'b': 'guard' .* must be async"),
        ([*STATES, {'name': 'b', 'on_enter': 'work'}], EDGES, "state 'b': 'work' .* must not be async"),
        ([*STATES, agent('b')], EDGES, r"state 'b': there is no method 'prompt_b' \(named as prompt\)"),
        (STATES, [['go', 'a', 'nowhere']], "trigger 'go' from 'a': there is no state 'nowhere'"),
        (STATES, [['go', 'nowhere', 'end']], "trigger 'go' from 'nowhere': there is no state 'nowhere'"),
        (
            STATES,
            [['go', 'a', 'end', 'missing']],
            r"'go' from 'a': there is no method 'missing' \(named as conditions\)",
        ),
        (STATES, [['go', 'a', 'end', 'narrow']], "'go' from 'a': 'narrow' .* must take memory and event"),
        (STATES, [['go', 'a']], 'an edge is trigger, source, dest'),
        (STATES, [{'trigger': 'go', 'source': 'a'}], r"trigger 'go' from 'a': lacks \['dest'\]"),
        (
            STATES,
            [{'trigger': 'go', 'source': 'a', 'dest': 'end', 'prepare': 'guard'}],
            r"unknown keys \['prepare'\]",
        ),
        (STATES, [['pause', 'a', 'end']], "trigger 'pause' from 'a': .*; reserved are abort, .*, pause, "),
        (STATES, [['state', 'a', 'end']], "trigger 'state' from 'a': .*; reserved are .*, state, "),
        (STATES, [['<go>', 'a', 'end']], "trigger '<go>' from 'a': a trigger needs a name of letters"),
        (STATES, [['go', 'end', 'a']], "trigger 'go' from 'end': nothing leads out of a final state"),
        (
            [*STATES, INNER],
            [{'trigger': 'go', 'source': 'a', 'dest': 'in', 'history': 'full'}],
            "'go' from 'a': history is 'shallow' or 'deep', not 'full'",
        ),
        (
            STATES,
            [{'trigger': 'go', 'source': 'a', 'dest': 'end', 'history': 'deep'}],
            "'go' from 'a': history leads back into a state with children, which 'end' is not",
        ),
        (STATES, [['done', 'a', 'end']], "trigger 'done' from 'a': nothing in this state can become done"),
        (STATES, [['always', 'a', None]], "trigger 'always' from 'a': an `always` edge must lead somewhere"),
        (
            [*STATES, {**INNER, 'transitions': [['go', 'x', 'end']]}],
            EDGES,
            "'go' from 'x' in state 'in': .* 'end'",
        ),
    ],
)
def test_each_mistake_is_named(states: Any, edges: Any, says: str) -> None:
    with pytest.raises(PatternError, match=f"^pattern 'wrong'.*{says}"):
        make_pattern(states, edges)


@pytest.mark.parametrize(
    ('attributes', 'says'),
    [
        ({'answer': 'text'}, "answer: Memory has no field 'text'"),
        ({'Memory': type('Memory', (BaseModel,), {})}, 'Memory: it must be a subclass of engine.Memory'),
        ({'Parameters': dict}, 'Parameters: it must be a subclass of pydantic.BaseModel'),
        (
            {'states': lambda self: [*STATES, self.parameters.count]},
            'cannot be drawn with default parameters',
        ),
    ],
)
def test_each_mistaken_attribute_is_named(attributes: dict[str, Any], says: str) -> None:
    with pytest.raises(PatternError, match=f"^pattern 'wrong', .*{says}"):
        make_pattern(**attributes)


@pytest.mark.parametrize('name', ['remember', 'sample', 'task', 'title', 'projects', 'validate_input'])
def test_a_method_that_hides_one_of_pattern_is_named(name: str) -> None:
    def action(self: Any, memory: Any, event: Any) -> None: ...

    with pytest.raises(
        PatternError, match=f"^pattern 'Wrong', attribute '{name}': it hides `Pattern.{name}`"
    ):
        make_pattern(transitions=[['go', 'a', 'end', None, None, name]], **{name: action})


def test_the_title_names_the_task_even_after_a_long_project_path() -> None:
    race = Catalog.load().pattern('race')
    task = 'Write a function that merges spans'
    assert race.sample({'task': task, 'project': '/home/ada/' + 'deep/' * 40}).task == task
