"""Steps: what the actions of a chart file do to memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from engine.charts.compiling.kinds import item_kind
from engine.charts.compiling.language import Language, Local
from engine.charts.compiling.scope import evaluation
from engine.charts.compiling.targets import Target, adapter, compile_target, first_problem
from engine.charts.format import Step
from engine.charts.reading import Place
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.expressions.compiler import Evaluation, Part
from engine.statechart.expressions.expression import compute
from engine.statechart.expressions.values import EvaluationError, calculate, deep_size, kind_of, require_list
from engine.statechart.memory import Memory, TrackedList

MAX_COUNTED = 5_000
"""Maximum number of steps of a file, each counted wherever an action is used."""
WRITE_STEPS = 20
"""How many parts of an expression a write to memory takes as long as."""
VERBS = ('set', 'append', 'increment', 'remove', 'action', 'do')
Doer = Callable[[Memory, Evaluation], None]


class Action:
    """An action of a chart: its steps, with the variables of the region it is in."""

    def __init__(
        self, name: str, do: Doer, steps: Sequence[Step], variables: Mapping[str, Any] | None = None
    ) -> None:
        self.__name__, self._do, self.steps, self._variables = name, do, steps, variables or {}

    def bind(self, variables: Mapping[str, Any]) -> Action:
        """Return it with the variables of a region."""
        return Action(self.__name__, self._do, self.steps, variables) if variables else self

    def __call__(self, scope: CallbackContext, event: Event) -> None:
        """Do the steps. Raises `EvaluationError`, which names the line."""
        self.run(scope.state.memory, evaluation(scope, event, self._variables))

    def run(self, memory: Memory, run: Evaluation) -> None:
        """Do the steps with these values of names. Raises `EvaluationError`."""
        self._do(memory, run)


class StepCompiler:
    """Compiles steps.

    Args:
        language: compiles the expressions in them.
        line_of: returns the line of a place in the file.
    """

    def __init__(self, language: Language, line_of: Callable[[Place], int]) -> None:
        self.language, self._line_of = language, line_of
        self._open: list[str] = []
        self._count = 0
        self._compiled: dict[tuple[str, Local, Any], tuple[Doer, int]] = {}
        """By action, with the variables and the answer that it can use: what does it, and its steps."""
        self.used: set[str] = set()
        """The actions that are used."""

    def action(self, steps: Sequence[Step], path: Place, local: Local = ()) -> Action | None:
        """Return steps as an action; None if there are none."""
        if not steps:
            return None
        name = steps[0].action if len(steps) == 1 and steps[0].action else '.'.join(map(str, path))
        return Action(name, self.steps(steps, path, local), steps)

    def steps(self, steps: Sequence[Step], path: Place, local: Local) -> Doer:
        """Return what does steps one after the other."""
        doers = [self._step(step, (*path, number), local) for number, step in enumerate(steps)]

        def do(memory: Memory, run: Evaluation) -> None:
            for doer in doers:
                doer(memory, run)

        return do

    def _step(self, step: Step, path: Place, local: Local) -> Doer:
        language = self.language
        if not self._count_steps(1, path):
            return _idle
        verbs = [verb for verb in VERBS if getattr(step, verb) is not None]
        if len(verbs) != 1:
            language.note(
                path,
                f'a step has one of {", ".join(VERBS)}' + (f', not {" and ".join(verbs)}' if verbs else ''),
            )
            return _idle
        if step.else_ is not None and step.if_ is None:
            language.note(path, '`else` needs an `if`')
        inner = local
        variable, items = '', None
        if step.for_ is not None:
            variable, items = language.loop(step.for_, (*path, 'for'), local)
            inner = (*local, variable)
        inner, values = self._let(step, path, inner)
        test = None if step.if_ is None else language.condition(step.if_, (*path, 'if'), inner)
        doer = self._verb(verbs[0], step, path, inner)
        if test is not None:
            orelse = self.steps(step.else_ or (), (*path, 'else'), inner)
            doer = _choose(test, doer, orelse)
        if values:
            doer = _bind(values, doer)
        if items is not None:
            doer = _repeat(variable, items, doer)
        return self._located(doer, path)

    def _let(self, step: Step, path: Place, local: Local) -> tuple[Local, dict[str, Part]]:
        values: dict[str, Part] = {}
        for name, value in step.let.items():
            values[name] = self.language.value(value, (*path, 'let', name), local)
            self.language.check_variable(name, (*path, 'let', name))
            local = (*local, name)
        return local, values

    def _located(self, doer: Doer, path: Place) -> Doer:
        line = self._line_of(path)

        def do(memory: Memory, run: Evaluation) -> None:
            run.count()
            try:
                doer(memory, run)
            except EvaluationError as error:
                raise (
                    error if str(error).startswith('line ') else EvaluationError(f'line {line}: {error}')
                ) from None
            except ValidationError as error:
                raise EvaluationError(f'line {line}: {first_problem(error)}') from None

        return do

    def _verb(self, verb: str, step: Step, path: Place, local: Local) -> Doer:
        match verb:
            case 'set':
                return self._writes(step.set or {}, (*path, 'set'), local, _setter)
            case 'append':
                return self._writes(step.append or {}, (*path, 'append'), local, _appender)
            case 'increment':
                return self._writes(step.increment or {}, (*path, 'increment'), local, _incrementer)
            case 'remove':
                target = compile_target(self.language, step.remove or '', (*path, 'remove'), local)
                if target and not target.keys:
                    self.language.note((*path, 'remove'), 'name an item of a list or a field of an object')
                return target.remove if target and target.keys else _idle
            case 'do':
                return self.steps(step.do or (), (*path, 'do'), local)
        return self._named(step.action or '', (*path, 'action'), local)

    def _named(self, name: str, path: Place, local: Local) -> Doer:
        actions = self.language.file.actions
        if name not in actions:
            self.language.note(
                path, f'there is no action {name!r}; available: {", ".join(actions) or "none"}'
            )
            return _idle
        if name in self._open:
            self.language.note(path, f'action {name!r} is a part of itself')
            return _idle
        key = (name, local, self.language.kinds.get('output'))
        if key in self._compiled:
            doer, steps = self._compiled[key]
            self._count_steps(steps, path)
            return doer
        self.used.add(name)
        self._open.append(name)
        before = self._count
        doer = self.steps(actions[name], ('actions', name), local)
        self._compiled[key] = doer, self._count - before
        self._open.pop()
        return doer

    def _count_steps(self, count: int, path: Place) -> bool:
        """Count steps; return False, and note a problem, if there are too many."""
        self._count += count
        if self._count > MAX_COUNTED:
            self.language.note(path, f'the actions have more than {MAX_COUNTED:,} steps')
        return self._count <= MAX_COUNTED

    def _writes(
        self, values: Mapping[str, Any], path: Place, local: Local, writer: Callable[[Target, Part], Doer]
    ) -> Doer:
        doers: list[Doer] = []
        for text, value in values.items():
            target = compile_target(self.language, text, (*path, text), local)
            part = self.language.value(value, (*path, text), local)
            if target is not None:
                doers.append(writer(target, part))

        def do(memory: Memory, run: Evaluation) -> None:
            for doer in doers:
                doer(memory, run)

        return do


def _idle(memory: Memory, run: Evaluation) -> None:
    """Stand in for a step that could not be compiled; the file is refused."""


def _bind(values: Mapping[str, Part], doer: Doer) -> Doer:
    def do(memory: Memory, run: Evaluation) -> None:
        outside = dict(run.local)
        for name, part in values.items():
            run.local[name] = compute(part, run)
        doer(memory, run)
        run.local = outside

    return do


def _choose(test: Part, doer: Doer, orelse: Doer) -> Doer:
    return lambda memory, run: (doer if compute(test, run) else orelse)(memory, run)


def _repeat(variable: str, items: Part, doer: Doer) -> Doer:
    def do(memory: Memory, run: Evaluation) -> None:
        outside, listed = dict(run.local), compute(items, run)
        for item in () if listed is None else list(require_list(listed)):
            run.spend(1)
            run.local[variable] = item
            doer(memory, run)
        run.local = outside

    return do


def _written(part: Part, run: Evaluation) -> Any:
    """Return a value that is to be written, counted as text."""
    value = compute(part, run)
    run.count(WRITE_STEPS)
    run.write(deep_size(value, run.text))
    return value


def _setter(target: Target, part: Part) -> Doer:
    if not target.keys:

        def assign(memory: Memory, run: Evaluation) -> None:
            value = _written(part, run)
            try:
                setattr(memory, target.field, value)
            except ValidationError as error:
                raise EvaluationError(first_problem(error)) from None

        return assign
    check = adapter(target.kind).validate_python

    def do(memory: Memory, run: Evaluation) -> None:
        value = _written(part, run)
        target.change(memory, run, lambda before: check(value))

    return do


def _appender(target: Target, part: Part) -> Doer:
    check = adapter(item_kind(target.kind)).validate_python

    def do(memory: Memory, run: Evaluation) -> None:
        value = _written(part, run)

        def add(before: Any) -> Any:
            item = check(value)
            if isinstance(before, TrackedList):
                before.append(item)
                return before
            if not isinstance(before, list | tuple):
                raise EvaluationError(f'{target.text} is {kind_of(before)}, not a list')
            return type(before)([*before, item])

        target.change(memory, run, add)

    return do


def _incrementer(target: Target, part: Part) -> Doer:
    def do(memory: Memory, run: Evaluation) -> None:
        by = _written(part, run)
        target.change(memory, run, lambda before: calculate(operator.add, before, by))

    return do
