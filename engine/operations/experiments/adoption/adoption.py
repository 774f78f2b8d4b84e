"""Adoption: the variants that a person has made defaults of their patterns, with their experiments."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.charts.library import ChartText, ChartVersion, version_of
from engine.configuration.catalog import Catalog
from engine.errors import EngineError, EntryChanged, InvalidInput
from engine.host.clock import Clock
from engine.journal.documents import Documents
from engine.journal.store import Columns, Store
from engine.operations.charting import MAX_NOTE, Charting
from engine.operations.experiments.adoption.chart_text import SAID, say_in_chart
from engine.operations.experiments.adoption.records import (
    AdoptionKind,
    AdoptionPlan,
    LaunchDefault,
    NoLaunchDefault,
)
from engine.operations.experiments.library import Library, UnknownDataset
from engine.operations.experiments.planning import launch_of
from engine.operations.experiments.records import Experiment, Variant
from engine.records import Launch
from engine.runtime.run_factory import ACTOR


class Adoption:
    """The defaults of patterns in a conductor's journal. Every method may raise `JournalError`.

    Args:
        documents: where they are stored.
        charts: the charts that can be changed.
        catalog: has the patterns.
        datasets: the cases of the experiments.
        clock: the time.
    """

    def __init__(
        self, documents: Documents, charts: Charting, catalog: Catalog, datasets: Library, clock: Clock
    ) -> None:
        columns = Columns(rank='created', about='experiment')
        self._store = Store(documents, 'launch-default', LaunchDefault, NoLaunchDefault, columns)
        self._charts, self._catalog, self._datasets, self._clock = charts, catalog, datasets, clock

    async def list(self) -> list[LaunchDefault]:
        """Return the defaults there are, and those that later versions of a chart have replaced."""
        return [replace(item, current=self._is_current(item)) for item in await self._store.list()]

    async def plan(self, experiment: Experiment, variant: str) -> AdoptionPlan:
        """Return what making a variant a version of its chart would change. Raises `InvalidInput`."""
        chosen, launch = _choose(experiment, variant)
        try:
            now = await self._chart(launch.pattern)
            start = await self._charts.get(now.name, launch.version) if launch.version else now
        except EngineError as error:
            return AdoptionPlan(pattern=launch.pattern, problems={'pattern': str(error)})
        after, problems = await asyncio.to_thread(say_in_chart, start.text, launch, chosen.change)
        problems |= await self._overruled(now.name, chosen.change)
        if not problems and after == now.text:
            problems['variant'] = f'the chart {now.name} says all of it already'
        versions = {version.version: version for version in await self._charts.versions(now.name)}
        digest = '' if problems else version_of(after)
        run = launch.version or experiment.parts.get(variant, {}).get('version', '')
        return AdoptionPlan(
            pattern=now.name,
            problems=problems,
            before=now.text,
            after='' if problems else after,
            base=now.version,
            restores=digest if digest in versions else '',
            warnings=_warnings(run, now.version, versions, follows=bool(launch.version)),
            note=_note(experiment, variant),
        )

    async def adopt(
        self, experiment: Experiment, variant: str, kind: AdoptionKind = 'settings', base: str = ''
    ) -> LaunchDefault:
        """Make a variant the default.

        Args:
            experiment: the experiment.
            variant: the name of one of its variants.
            kind: as settings of the launch form, or as a version of the pattern's chart.
            base: the version of the chart that was current in the plan that a person has seen; '' is any.

        Raises:
            InvalidInput: there is no such variant, it would change nothing, or the chart cannot say it.
            EntryChanged: the chart has been changed since.
        """
        if kind == 'version':
            return await self._save_version(experiment, variant, base)
        chosen, launch = _choose(experiment, variant)
        given = await self._given(experiment) - chosen.change.get('parameters', {}).keys()
        default = LaunchDefault(
            id=launch.pattern,
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
        await self._put(default)
        return default

    async def remove(self, pattern: str, version: str = '') -> None:
        """Start from the pattern's own defaults again, or from the chart as it was before a version.

        Raises:
            NoLaunchDefault
            InvalidInput: the chart has been changed since, so that nothing goes back by itself.
        """
        if not version:
            await self._store.remove(pattern)
            return
        default = await self._store.get(_key(pattern, version))
        now = await self._charts.get(pattern)
        if now.version != version:
            raise InvalidInput(
                {'version': f'the chart {pattern} has been changed since: make current what you want'}
            )
        before = await self._charts.get(pattern, default.before)
        await self._charts.save(pattern, before.text, base=version)  # The link stays: it is what happened.

    async def _save_version(self, experiment: Experiment, variant: str, base: str) -> LaunchDefault:
        plan = await self.plan(experiment, variant)
        if plan.problems:
            raise InvalidInput(dict(plan.problems))
        if base and base != plan.base:
            raise EntryChanged('chart', plan.pattern)
        version = version_of(plan.after)
        default = LaunchDefault(
            id=_key(plan.pattern, version),
            pattern=plan.pattern,
            launch=Launch(pattern=plan.pattern),
            experiment=experiment.id,
            variant=variant,
            author=ACTOR.get(),
            created=self._clock.now(),
            version=version,
            before=plan.base,
        )
        old = await self._store.find(default.id)
        # First the link: as long as the version is not current, it says nothing.
        await self._put(default)
        try:
            await self._charts.save(plan.pattern, plan.after, base=plan.base, note=plan.note)
        except EngineError:
            if old:
                await self._put(old)
            else:
                await self._store.remove(default.id)
            raise
        return default

    async def _put(self, default: LaunchDefault) -> None:
        """Store a default, in place of the one with its id."""
        if await self._store.find(default.id):
            await self._store.change(default.id, lambda stored: default)
        else:
            await self._store.write([default])

    async def _chart(self, pattern: str) -> ChartText:
        """Return the chart of a pattern as it is now. Raises `EngineError`: why it cannot be changed."""
        name = self._catalog.pattern(pattern).name
        info = next((info for info in await self._charts.list() if info.name == name), None)
        if info is None:
            raise EngineError(f'{name} is written in Python: its code says what runs start with')
        if info.folder:
            raise EngineError(f'the file of {name} is in {info.folder}: change it there')
        if info.faults:
            raise EngineError(f'the file of {name} has mistakes: mend it first')
        return await self._charts.get(name)

    async def _overruled(self, pattern: str, change: Mapping[str, Any]) -> dict[str, str]:
        """Return what of a change the launch form would overrule, since another variant is its default."""
        settings = await self._store.find(pattern)
        if settings is None:
            return {}
        why = f'the launch form starts from the settings of {settings.variant!r}: reset them first'
        return {
            f'{field}.{name}': why
            for field in SAID
            for name in change.get(field, ())
            if name in getattr(settings.launch, field)
        }

    async def _given(self, experiment: Experiment) -> set[str]:
        """Return the parameters that each case gives."""
        try:
            cases = await self._datasets.cases(experiment.dataset, experiment.version)
        except UnknownDataset:
            return set()
        return set.intersection(*(set(case.parameters) for case in cases)) if cases else set()

    def _is_current(self, default: LaunchDefault) -> bool:
        pattern = self._catalog.find(default.pattern) if default.version else None
        return not default.version or (pattern is not None and pattern.version == default.version)


def _choose(experiment: Experiment, variant: str) -> tuple[Variant, Launch]:
    """Return a variant and how it runs. Raises `InvalidInput`: there is none, or it is a trial only."""
    chosen = next((item for item in experiment.variants if item.name == variant), None)
    if chosen is None:
        names = ', '.join(item.name for item in experiment.variants)
        raise InvalidInput({'variant': f'there is no variant {variant!r}; available: {names}'})
    if chosen.change and chosen.change.keys() <= {'stubs'}:
        raise InvalidInput({'variant': 'it differs by stubs alone, which stand in for agents in a trial'})
    return chosen, launch_of(experiment.base, chosen)


def _key(pattern: str, version: str) -> str:
    return f'{pattern}@{version}'


def _note(experiment: Experiment, variant: str) -> str:
    of = 'a private experiment' if experiment.private else f'the experiment “{experiment.name}”'
    return f'Variant “{variant}” of {of}'[:MAX_NOTE]


def _warnings(run: str, now: str, versions: Mapping[str, ChartVersion], *, follows: bool) -> tuple[str, ...]:
    """Say that the experiment ran another version of the chart than the current one, if so."""
    if run == now:
        return ()
    ran, current = (
        f'version {versions[each].number}' if each in versions else 'another' for each in (run, now)
    )
    then = 'What was changed since then goes.' if follows else 'The change is made to the current one.'
    return (f'The experiment ran {ran} of the chart, and {current} is current. {then}',)
