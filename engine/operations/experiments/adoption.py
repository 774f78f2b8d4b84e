"""Adoption: the variant that a person has made the default of its pattern, with its experiment."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from engine.errors import EngineError, InvalidInput
from engine.host.clock import Clock
from engine.journal.documents import Documents
from engine.journal.store import Columns, Store
from engine.operations.experiments.planning import launch_of
from engine.operations.experiments.records import Experiment
from engine.records import Instant, Launch
from engine.runtime.run_factory import ACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchDefault:
    """What the launch form of a pattern starts from, since an experiment has found it to be better."""

    pattern: str
    launch: Launch
    """The variant's launch, without what each case gives, and without stubs."""
    experiment: str
    variant: str
    author: str
    created: Instant


class NoLaunchDefault(EngineError):
    """No variant has been made the default of this pattern."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f'no variant has been made the default of the pattern {pattern!r}')


class Adoption:
    """The defaults of patterns in a conductor's journal. Every method may raise `JournalError`."""

    def __init__(self, documents: Documents, clock: Clock) -> None:
        columns = Columns(key='pattern', rank='created', about='experiment')
        self._store = Store(documents, 'launch-default', LaunchDefault, NoLaunchDefault, columns)
        self._clock = clock

    async def list(self) -> list[LaunchDefault]:
        """Return the defaults there are."""
        return await self._store.list()

    async def adopt(self, experiment: Experiment, variant: str, given: Collection[str]) -> LaunchDefault:
        """Make a variant the default; `given` are the parameters that each case gives.

        Raises:
            InvalidInput: there is no such variant, or it would change nothing.
        """
        chosen = next((item for item in experiment.variants if item.name == variant), None)
        if chosen is None:
            names = ', '.join(item.name for item in experiment.variants)
            raise InvalidInput({'variant': f'there is no variant {variant!r}; available: {names}'})
        launch = launch_of(experiment.base, chosen)
        if chosen.change and chosen.change.keys() <= {'stubs'}:
            raise InvalidInput({'variant': 'it differs by stubs alone, which stand in for agents in a trial'})
        default = LaunchDefault(
            pattern=launch.pattern,
            launch=replace(
                launch,
                parameters={name: value for name, value in launch.parameters.items() if name not in given},
                stubs={},
                tags=(),
                private=False,
                seed=0,
            ),
            experiment=experiment.id,
            variant=variant,
            author=ACTOR.get(),
            created=self._clock.now(),
        )
        await self._store.write([default])
        return default

    async def remove(self, pattern: str) -> None:
        """Start from the pattern's own defaults again. Raises `NoLaunchDefault`."""
        await self._store.remove(pattern)
