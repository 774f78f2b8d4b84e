"""Runs part of a pipeline alone, on the models of the enclosing run or of a catalog."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, TypeVar

from engine.errors import EngineError
from engine.journal.usage_records import by_model, usage_to_dict
from engine.models.protocol import Model, ModelEvent, ModelRequest
from engine.patterns.pipeline.audit_trail import audit_trail
from engine.patterns.pipeline.task_state import TaskState
from engine.records import Outcome, Spending, Usage
from engine.runtime.activity import Activity
from engine.statechart.pattern import Pattern

if TYPE_CHECKING:
    from engine.configuration.catalog import Catalog

T = TypeVar('T')
State = TypeVar('State', bound=TaskState)


@dataclass(kw_only=True)
class HostRun:
    """The run in which a callable is a stage; built-in stages that it calls use that run's models."""

    activity: Activity
    loop: asyncio.AbstractEventLoop
    usage_by_model: dict[str, Usage] = field(default_factory=dict)
    """Usage of the stages called inside, by model."""
    source: str = ''

    @classmethod
    @contextmanager
    def of(cls, activity: Activity) -> Iterator[HostRun]:
        """Make an activity's run the host of stages that are called inside the block."""
        host = cls(activity=activity, loop=asyncio.get_running_loop())
        token = _host.set(host)
        try:
            yield host
        finally:
            _host.reset(token)

    @property
    def data(self) -> dict[str, Any]:
        """Data journaled with the callable's result; empty if no model was called."""
        if not self.usage_by_model:
            return {}
        usage = usage_to_dict(reduce(add, self.usage_by_model.values()))
        return {'usage': usage, 'spent': by_model(self.usage_by_model), 'source': self.source}

    def add_usage(self, spending: Mapping[str, Spending]) -> None:
        """Add the usage of a nested run."""
        for model_usage in spending.values():
            for model, usage in model_usage.models.items():
                self.usage_by_model[model] = self.usage_by_model.get(model, Usage()) + usage
            self.source = next(reversed(model_usage.origins), self.source)

    def catalog(self, needed: Iterable[str]) -> Catalog:
        """Return the models and tools for a nested run; `needed` holds model names, or lists like `a,b`."""
        from engine.configuration.catalog import Catalog

        services = self.activity.services
        names = {*services.models, *(name.strip() for names in needed for name in names.split(','))}
        models: dict[str, Any] = {name: _HostModel(self, name) for name in names if name in services.models}
        return Catalog(models=models, tools=dict(services.tools))


_host: ContextVar[HostRun | None] = ContextVar('host', default=None)


class _HostModel:
    """A model of the host run, with its recording and its connections."""

    def __init__(self, host: HostRun, name: str) -> None:
        self._host, self.name = host, name

    @property
    def _model(self) -> Model:
        return self._host.activity.services.model(self.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        recorded = await self._host.activity.recorded_call()
        model = (recorded and recorded.model(self.name)) or self._model
        async for event in model.stream(replace(request, carrier=recorded)):
            yield event


async def run_single(
    pattern: type[Pattern],
    state: State,
    parameters: Mapping[str, Any] | None = None,
    *,
    catalog: Catalog | None = None,
    models: Mapping[str, str] | None = None,
) -> tuple[Outcome, State]:
    """Run a pattern on a copy of `state`, in memory only; return the outcome and the final state.

    Args:
        pattern: a pattern whose memory is a `TaskState`.
        state: the initial state.
        parameters: values for the pattern's parameters.
        catalog: models and tools; by default those of the host run, or the engine's own.
        models: model name per role; other roles use those of the host run.
    """
    # The conductor imports the whole runtime, which patterns do not need.
    from engine.configuration.catalog import Catalog
    from engine.operations.local_conductor import LocalConductor

    host = None if catalog is not None else _host.get()
    role_models = {**(host.activity.run.models if host else {}), **(models or {})}

    class PatternFromState(pattern):  # type: ignore[misc, valid-type]
        """The pattern, started from a given state."""

        name = pattern.name
        Memory = type(state)

        def remember(self) -> State:
            return state.detached_copy()

    run_catalog = (
        host.catalog(role_models.values()) if host else replace(catalog or Catalog.load(), patterns={})
    )
    async with LocalConductor(catalog=run_catalog) as conductor:
        run = await conductor.start(PatternFromState, parameters, models=role_models)
        outcome = await conductor.result(run.id)
        result = type(state).from_dict(outcome.memory)
        result.messages = audit_trail(await conductor.transitions(run.id))
        if host:
            host.add_usage((await conductor.view(run.id)).spending)
    return outcome, result


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to completion from synchronous code; its exceptions propagate."""
    host = _host.get()
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if host and running is None:
        # Called from a stage's thread: the run's connections belong to the run's event loop.
        return asyncio.run_coroutine_threadsafe(_run_in_host(host, work), host.loop).result()
    if running is None:
        return asyncio.run(work)
    if host and host.loop is running:
        work.close()
        raise EngineError('an asynchronous stage must await `aprocess`: `process` would block the run')
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, work).result()


async def _run_in_host(host: HostRun, work: Coroutine[Any, Any, T]) -> T:
    _host.set(host)
    return await work
