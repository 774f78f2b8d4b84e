"""Forks: starts runs from existing ones, at a step or from the beginning."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Unpack

from engine.errors import EventRefused, InvalidInput, JournalConflict, JournalDamaged
from engine.history.bundle.closing import is_closing
from engine.history.forks.forecast import from_others, from_parent
from engine.history.forks.fork_plan import ForkPlanner, find_retry_step
from engine.history.forks.fork_records import (
    WINNER,
    CostEstimate,
    ForkOrigin,
    ForkOverrides,
    LineageNode,
    lineage_tree,
    make_policy,
)
from engine.history.run_reader import RunReader
from engine.records import Launch, RunId, RunInfo, RunQuery, StartOptions, Status, VariantOptions
from engine.records.jsonable import to_jsonable
from engine.records.payloads import RecoverData
from engine.runtime.live_runs import LiveRuns
from engine.runtime.run_factory import new_run_id, normalize_budget

ANSWERING = ('record', 'replay')
"""Options of recorded exchanges, which a run answered from a journal does not take over."""
MAX_COMPARED_RUNS = 20
"""Number of a pattern's newest finished runs to estimate from when the parent has not finished."""


class Forks:
    """Forks, re-runs and retries. None of them changes the original run."""

    def __init__(self, live: LiveRuns, reader: RunReader) -> None:
        self._live, self._planner = live, ForkPlanner(live, reader)
        self.journal = live.journal

    async def fork(
        self,
        run: RunId,
        at: int,
        *,
        overrides: ForkOverrides | None = None,
        new: RunId | None = None,
        **options: Unpack[StartOptions],
    ) -> RunId:
        """Start a new run from step `at` of another, which is unchanged.

        The `raised` steps right after step `at` belong to it and are also copied; `parent_at` of the new run
        is the last of them. Its agents get their own copies of the files as they were then. The full `budget`
        is available to it, or its parent's budget at that step: the parent's usage does not count.

        Args:
            run: the parent.
            at: the step; 0 to start over. Ignored if the overrides start over.
            overrides: what to change and what to replay; by default, nothing changes and models are called.
            new: the new run's id, if the caller chooses it.
            options: how it starts.

        Raises:
            UnknownRun, UnknownStep, UnknownPattern, EventRefused, WorkspaceError
            InvalidInput: names the field of the overrides, or the path of the edit.
        """
        parent = await self.journal.info(run)
        return await self._fork(parent, at, overrides or ForkOverrides(), new=new, **options)

    async def replay(self, run: RunId, launch: Launch, *, new: RunId) -> RunId:
        """Start a run that is answered from another's journal, and stops where that has nothing.

        It calls no model and no tool, nor does it wait for people: see `unrecorded`.

        Args:
            run: the other run. The new one is launched like that, apart from what follows.
            launch: its version, parameters, approvals, budget, title, tags and privacy are the new run's.
            new: the new run's id.

        Raises:
            UnknownRun, UnknownPattern, InvalidInput
        """
        source = await self.journal.info(run)
        options = {name: value for name, value in source.options.items() if name not in ANSWERING}
        if 'approvals' in launch.options:
            options['approvals'] = launch.approvals
        parent = replace(
            source,
            version=launch.version,
            options=options,
            tags=launch.tags,
            private=launch.private,
            # What stands for the end of a run that came unfinished was not done by it.
            seq=source.seq - is_closing(await self.journal.transitions(run, after=max(0, source.seq - 1))),
        )
        await self._live.catalog.compile(parent.pattern, parent.version)
        pattern = self._live.catalog.pattern_of(parent)
        given = pattern(pattern.parse_recorded({**source.parameters, **launch.parameters}))
        values = given.parameters.model_dump(mode='json')
        other = {
            name: values[name] for name in launch.parameters if values[name] != source.parameters.get(name)
        }
        overrides = ForkOverrides(parameters=other, after='recorded', beyond='stop')
        return await self._fork(parent, 0, overrides, new=new, title=launch.title, budget=launch.budget)

    async def fork_all(
        self,
        run: RunId,
        at: int,
        variations: Mapping[str, ForkOverrides],
        *,
        new: Sequence[RunId] = (),
        **options: Unpack[VariantOptions],
    ) -> list[RunId]:
        """Fork several variants together, to be watched side by side.

        Args:
            run: the parent.
            at: the step.
            variations: the overrides by the variant's name, which is appended to its title.
            new: the new runs' ids, if the caller chooses them; existing runs are left unchanged.
            options: how each starts.

        Returns:
            The runs, in the order of `variations`. They share a tag: see `LineageNode.group`.

        Raises:
            UnknownRun, UnknownStep, UnknownPattern, EventRefused, WorkspaceError
            InvalidInput: no run was started; names the variant and the field.
        """
        parent, group = await self.journal.info(run), f'variants-{(new[0] if new else new_run_id())[:6]}'
        ids = new or [new_run_id() for _ in variations]
        for name, variation in variations.items():
            try:
                await self._planner.plan(parent, at, variation)
            except InvalidInput as error:
                problems = {f'{name}: {field}': problem for field, problem in error.problems.items()}
                raise InvalidInput(problems) from None
        titles = {name: f'{changes.title or parent.title} ({name})' for name, changes in variations.items()}
        for (name, variation), id in zip(variations.items(), ids, strict=True):
            with suppress(JournalConflict):  # It was already forked in an earlier attempt: see `new`.
                await self._fork(
                    parent, at, variation, {'group': group}, new=id, title=titles[name], **options
                )
        return list(ids)

    async def forecast(self, run: RunId, at: int, overrides: ForkOverrides | None = None) -> CostEstimate:
        """Estimate a fork's usage before it starts.

        Raises:
            UnknownRun, UnknownStep, UnknownPattern, EventRefused
            InvalidInput: the fork would be rejected; names the field.
        """
        parent, chosen = await self.journal.info(run), overrides or ForkOverrides()
        info = (await self._planner.plan(parent, at, chosen)).info
        if parent.status is Status.DONE:
            begin = at if chosen.before == 'recorded' else 0
            with suppress(JournalDamaged):  # Steps before the damage can still be forked: use other runs.
                steps = await self.journal.transitions(run, after=begin)
                shape = await self.journal.shape(run)
                services = self._live.services
                return await asyncio.to_thread(from_parent, chosen, at, steps, shape, info, services)
        others = RunQuery(pattern=parent.pattern, status=(Status.DONE,), limit=MAX_COMPARED_RUNS)
        similar = (await self.journal.runs(others)).runs
        return await asyncio.to_thread(from_others, chosen, info, similar, info.usage, self._live.services)

    async def rerun(
        self,
        run: RunId,
        *,
        new: RunId | None = None,
        **options: Unpack[StartOptions],
    ) -> RunId:
        """Start a run over from the first step, with the same parameters, models, seed, options and budget.

        `new` is the new run's id, if the caller chooses it.

        Raises:
            UnknownRun, UnknownPattern, InvalidInput
        """
        parent, live = await self.journal.info(run), ForkOverrides(before='live')
        return await self._fork(parent, 0, live, {'kind': 'rerun'}, new=new, **options)

    async def retry(
        self,
        run: RunId,
        *,
        new: RunId | None = None,
        **options: Unpack[StartOptions],
    ) -> RunId:
        """Fork a failed or cancelled run from just before the failure, so that the failed work is retried.

        `new` is the new run's id, if the caller chooses it.

        Raises:
            UnknownRun, UnknownPattern, WorkspaceError
            EventRefused: the run has not failed.
        """
        parent, at = await self.journal.info(run), await self.retry_at(run)
        return await self._fork(parent, at, ForkOverrides(), {'kind': 'retry'}, new=new, **options)

    async def retry_at(self, run: RunId) -> int:
        """Return the step from which `retry` continues. Raises `UnknownRun`, `EventRefused`."""
        info = await self.journal.info(run)
        if not info.status.retriable:
            raise EventRefused(run, 'retry', f'it has not failed: it is {info.status}')
        return await find_retry_step(self.journal, info)

    async def lineage(self, run: RunId) -> LineageNode:
        """Return the fork tree of a run, from its oldest ancestor. Raises `UnknownRun`."""
        return lineage_tree(await self.journal.family(run))

    async def family(self, run: RunId) -> list[RunId]:
        """Return a run, its ancestors and all their forks, parents first; omits other runs in the trash.

        Raises:
            UnknownRun
        """
        members = (await self.lineage(run)).members()
        return [member.run for _, member in members if not member.info.deleted or member.run == run]

    async def mark_winner(self, run: RunId) -> None:
        """Mark a run as the best of its group of variants. Raises `UnknownRun`."""
        info = await self.journal.info(run)
        group = info.options.get('group')
        for other in await self.journal.family(run) if group else [info]:
            if other.id != run and other.options.get('group') == group and WINNER in other.tags:
                await self.journal.annotate(other.id, tags=[tag for tag in other.tags if tag != WINNER])
        if WINNER not in info.tags:
            await self.journal.annotate(run, tags=[*info.tags, WINNER])

    async def _fork(
        self,
        parent: RunInfo,
        at: int,
        variation: ForkOverrides,
        origin: ForkOrigin | None = None,
        *,
        new: RunId | None = None,
        **options: Unpack[StartOptions],
    ) -> RunId:
        origin = origin or {}
        title, paused = options.get('title', ''), options.get('paused', False)
        draft = await self._planner.plan(parent, at, variation)
        begin = draft.info.parent_at
        plays = make_policy(variation, begin=begin, at=at, until=parent.seq)
        begins_paused = paused and not draft.info.parent_at
        marks = {
            **origin,
            'paused': begins_paused,
            'play': plays and asdict(plays),
        }
        limited = normalize_budget(options.get('budget')) or draft.info.budget
        if begin:
            says: RecoverData = {
                'forked': f'{parent.id}@{begin}',
                'playing': plays is not None and plays.strict,
                'paused': paused,
                'retried': origin.get('kind') == 'retry',
                'budget': asdict(limited) if limited else {},
            }
            # Stored when the run is created, in case it is interrupted before its first step.
            begins = {**says, **draft.data}
            marks['begins'] = to_jsonable({name: value for name, value in begins.items() if value})
        info = replace(
            draft.info,
            id=new or draft.info.id,
            title=title.strip() or variation.title or draft.info.title,
            options={**draft.info.options, **{name: value for name, value in marks.items() if value}},
            tags=(
                *(tag for tag in draft.info.tags if tag != WINNER),
                *([origin['group']] if 'group' in origin else ()),
            ),
            budget=limited,
        )
        if info.parent_at:
            await self._live.fork(info, draft.chart)
        else:
            await self._live.create(info, draft.chart, draft.state)
        return info.id
