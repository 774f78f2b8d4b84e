"""Callables as stages: functions of the state, LangGraph's nodes, Runnables and compiled graphs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Thread
from typing import Any, Protocol, TypeVar, cast
from weakref import WeakSet

from pydantic_core import to_jsonable_python

from engine.errors import EngineError, PatternError
from engine.patterns.pipeline.single_run import HostRun
from engine.patterns.pipeline.task_state import AgentMessage, TaskState
from engine.records import Event
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext

Process = Callable[[TaskState], TaskState | Mapping[str, Any] | Awaitable[TaskState | Mapping[str, Any]]]
"""Takes the state and returns it, or (as a LangGraph node) a mapping of the fields it changes; sync or
async."""


T = TypeVar('T')


class Processor(Protocol):
    """A custom agent: an object whose `process` takes the state and returns it."""

    @property
    def process(self) -> Process:
        """What it calls with the task's state."""
        ...


ORCHESTRATOR_FIELDS = frozenset({'task', 'status', 'iteration', 'max_iterations', 'error', 'caveat'})
"""Fields that callables may not change."""


def callable_of(work: Process | Processor) -> Process:
    """Return the callable of a stage: `work` itself, or its `process` if it cannot be called."""
    if isinstance(work, type) or callable(work) or _is_runnable(work):
        return cast(Process, work)
    return cast(Process, getattr(work, 'process', work))


def check_callable(name: str, work: Any) -> None:
    """Raise `PatternError` unless `work` can be called with a state and, optionally, a `config`."""
    problem = '' if _is_runnable(work) else _kind_problem(work) or _signature_problem(work)
    if problem:
        raise PatternError('pipeline', problem, where=f'stage {name!r}')


def _kind_problem(work: Any) -> str:
    kind = type(work).__name__
    if isinstance(work, type):
        return f'{work.__name__} is a class: pass an instance of it'
    if hasattr(work, 'compile') and hasattr(work, 'add_node'):
        return f'a {kind} must be compiled first: pass the result of its compile()'
    if not callable(work):
        return f'a stage must be callable, and a {kind} is not'
    function = work.func if isinstance(work, partial) else work
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return 'a generator cannot be a stage: return the state, or the fields to change'
    return ''


def _signature_problem(work: Any) -> str:
    parameters = _parameters(work)
    if parameters is None:
        return ''
    if not any(
        parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD) for parameter in parameters
    ):
        return 'it takes no state: a stage is called with one'
    positional = [parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    others = [
        parameter.name for parameter in parameters if _is_required(parameter) and parameter.name != 'config'
    ]
    others = [name for name in others if name != positional[0].name]
    needs = 'a stage is called with the state, and with `config` if it asks for it'
    return f'it also needs {", ".join(others)}: {needs}' if others else ''


def _is_runnable(work: Any) -> bool:
    """Whether it has the interface of LangChain's Runnables and LangGraph's compiled graphs."""
    return not isinstance(work, type) and hasattr(work, 'ainvoke')


def _parameters(work: Any) -> list[inspect.Parameter] | None:
    """Return its parameters; None if they cannot be determined."""
    try:
        return list(inspect.signature(work).parameters.values())
    except (TypeError, ValueError):
        return None


def _is_required(parameter: inspect.Parameter) -> bool:
    return (
        parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and parameter.default is parameter.empty
    )


async def call_stage(work: Process, scope: CallbackContext, activity: Activity) -> dict[str, Any]:
    """Call a stage with a copy of the state.

    Returns:
        `changes` (fields), `messages` (added to the history) and, if built-in stages ran inside it,
        their usage.

    Raises:
        EngineError: it returned another type, changed earlier messages, or tried to choose the next stage.
    """
    state = scope.state.copy_memory()
    assert isinstance(state, TaskState)
    before = state.to_dict()
    with HostRun.of(activity) as host, stage_threads():
        result = await _call_work(work, state, scope.path)
    if isinstance(result, TaskState):
        after = result.to_dict()
    elif isinstance(result, Mapping):
        after = type(state).from_dict({**before, **_as_update(result, before)}).to_dict()
    else:
        raise EngineError(f'a stage must return the state or a mapping, not {type(result).__name__}')
    # Changes to the orchestrator's fields are ignored.
    changes = {
        name: value
        for name, value in after.items()
        if value != before[name] and name not in ORCHESTRATOR_FIELDS and name != 'messages'
    }
    added = _added_entries(before['messages'], after['messages'], scope.path, changes)
    return {'changes': changes, 'messages': added, **host.data}


def apply_changes(scope: CallbackContext, event: Event) -> None:
    """Write the fields changed by a callable into the run's memory."""
    memory = scope.state.memory
    assert isinstance(memory, TaskState)
    changed = type(memory).model_validate({**to_jsonable_python(memory), **event.data['changes']})
    for name in event.data['changes']:
        setattr(memory, name, getattr(changed, name))
    for message in event.data['messages']:
        entry = AgentMessage.model_validate(message)
        # A nested stage stamped it with its own run.
        memory.messages.append(
            entry.model_copy(update={'time': 0.0, 'seq': 0, 'iteration': memory.iteration})
        )


async def _call_work(work: Any, state: TaskState, name: str) -> Any:
    """Call a function, or a LangGraph node in any form, and return its result."""
    if _is_runnable(work):
        # A graph reads its channels from a mapping; a node takes the state itself.
        is_graph = hasattr(work, 'get_graph') and hasattr(work, 'channels')
        result = await work.ainvoke(state.to_dict() if is_graph else state)
    else:
        function = partial(work, config={'configurable': {}}) if _takes_config(work) else work
        result = (
            function(state)
            if _is_async(work)
            else await asyncio.to_thread(_call_synchronous, function, state)
        )
        if inspect.isawaitable(result):
            result = await result
    return _command_update(result, name) if type(result).__name__ == 'Command' else result


def _command_update(command: Any, name: str) -> Mapping[str, Any]:
    """Return the update in a LangGraph `Command`. Raises `EngineError` if it also chooses the next node."""
    if getattr(command, 'goto', None) or getattr(command, 'graph', None):
        raise EngineError(
            f'{name} returned a Command with `goto` or `graph`: the orchestrator decides what follows'
        )
    update = command.update
    if isinstance(update, TaskState):
        return update.to_dict()
    return dict(update or {})


def _takes_config(work: Any) -> bool:
    return any(
        parameter.name == 'config' and _is_required(parameter) for parameter in _parameters(work) or ()
    )


def _as_update(result: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping's fields; messages that do not begin with the earlier ones are appended to them."""
    update = dict(result)
    if 'messages' in update:
        earlier, messages = before['messages'], to_jsonable_python(list(update['messages']))
        update['messages'] = messages if messages[: len(earlier)] == earlier else [*earlier, *messages]
    return update


def _added_entries(
    before: list[Any], after: list[Any], path: str, changes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a stage's new messages, or a note that it ran. Raises `EngineError` if earlier ones changed."""
    if after[: len(before)] != before:
        raise EngineError('a stage may add to `messages` but not change or remove existing ones')
    if len(after) > len(before):
        return after[len(before) :]
    text = f'changed {", ".join(changes)}' if changes else 'changed nothing'
    note = AgentMessage(sender=path.rpartition('.')[2], recipient='orchestrator', kind='update', content=text)
    return [dict(to_jsonable_python(note))]


def _call_synchronous(work: Process, state: TaskState) -> Any:
    try:
        return work(state)
    except StopIteration as error:  # A future cannot raise it: the caller would wait forever.
        raise RuntimeError(f'StopIteration: {error}') from error


def _is_async(work: Process) -> bool:
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, '__call__', None))  # noqa: B004


class StageThreads(ThreadPoolExecutor):
    """A default executor that runs each call from inside a stage in its own daemon thread.

    Libraries that a stage uses (LangGraph for synchronous nodes) block in the loop's default executor,
    and Python waits for its threads before it exits.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Call in a daemon thread if inside a stage, otherwise as usual."""
        if not _in_stage.get():
            return super().submit(fn, *args, **kwargs)
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        Thread(target=work, name='stage', daemon=True).start()
        return future


_in_stage: ContextVar[bool] = ContextVar('in_stage', default=False)
_prepared: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


@contextmanager
def stage_threads() -> Iterator[None]:
    """Prevent calls in the running loop's executor from delaying the end of the process."""
    loop = asyncio.get_running_loop()
    if loop not in _prepared:
        loop.set_default_executor(StageThreads())
        _prepared.add(loop)
    token = _in_stage.set(True)
    try:
        yield
    finally:
        _in_stage.reset(token)
