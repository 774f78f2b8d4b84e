"""Forking: starts runs from runs that there are, as they were at a step or anew."""

from __future__ import annotations

import asyncio
import uuid
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, replace
from typing import Any

from engine.activity import Services
from engine.audit import turns
from engine.budgets.budget import Budget
from engine.chart import Chart
from engine.errors import EventRefused, InvalidInput, UnknownRun
from engine.feed import Item
from engine.forks.drafting import Drafting
from engine.forks.forecast import from_others, from_parent
from engine.forks.lineage import tree
from engine.forks.playback import Player
from engine.forks.plays import Plays, plays_of
from engine.forks.retrying import last_good
from engine.forks.script import Script
from engine.forks.variation import WINNER, Forecast, Kin, Kind, Variation
from engine.plain import plain
from engine.prepare import Charts, budgeted
from engine.recordings import Recordings
from engine.records import RunId, RunInfo, RunQuery, Shape, Status
from engine.state import RunState
from engine.view import Ledger

LOOKED_AT = 20
"""The newest runs of a pattern, which say what a fork of one that is not done may use."""


class Forking(Drafting):
    """Forks, re-runs and retries. None of them changes the run that it begins from."""

    owner: str
    services: Services
    recordings: Recordings
    _charts: Charts

    async def fork(  # noqa: PLR0913  (all but the first two have defaults)
        self,
        run: RunId,
        at: int,
        *,
        title: str = '',
        paused: bool = False,
        budget: Budget | None = None,
        variation: Variation | None = None,
    ) -> RunId:
        """Start a new run from step `at` of another, which stays as it is.

        What step `at` brought about by itself, the `raised` steps right after it, belongs to it and is
        taken too: see `parent_at` of the new run. Its agents get their files as they were then, in folders
        of their own. It has the whole of `budget`, or of its parent's as it was then: what its parent had
        used does not count.

        Args:
            run: which.
            at: the step; 0, where it begins anew, and of no matter where the variation says so.
            title: of the new run; its parent's by default.
            paused: whether it waits to be resumed.
            budget: the most that it may use.
            variation: what is otherwise, and what is played; by default models are called from there.

        Raises:
            UnknownRun, UnknownStep, UnknownPattern, EventRefused, WorkspaceError
            InvalidInput: names the field of the variation, or the place of the change.
        """
        return await self._fork(run, at, variation or Variation(), title=title, paused=paused, budget=budget)

    async def fork_all(
        self,
        run: RunId,
        at: int,
        variations: Mapping[str, Variation],
        *,
        paused: bool = False,
        budget: Budget | None = None,
    ) -> list[RunId]:
        """Fork several variants at once, to be watched side by side.

        Args:
            run: which.
            at: the step.
            variations: by what each is called: it stands behind the title of its run.
            paused: whether they wait to be resumed.
            budget: the most that each may use.

        Returns:
            The runs, in that order. They have one tag in common: see `Kin.group`.

        Raises:
            UnknownRun, UnknownStep, UnknownPattern, EventRefused, WorkspaceError
            InvalidInput: none was started; it names the variant and the field.
        """
        parent, group = await self.journal.info(run), f'variants-{uuid.uuid4().hex[:6]}'
        for name, variation in variations.items():
            try:
                await self._drafted(parent, at, variation)
            except InvalidInput as error:
                found = {f'{name}: {field}': problem for field, problem in error.problems.items()}
                raise InvalidInput(found) from None
        titles = {name: f'{parent.title} ({name})' for name in variations}
        return [
            await self._fork(
                run, at, variation, title=titles[name], paused=paused, budget=budget, group=group
            )
            for name, variation in variations.items()
        ]

    async def forecast(self, run: RunId, at: int, variation: Variation | None = None) -> Forecast:
        """What a fork may use, before it is started: an estimate.

        Raises:
            UnknownRun, UnknownStep, UnknownPattern, EventRefused
            InvalidInput: the fork would be refused; it names the field.
        """
        parent, chosen = await self.journal.info(run), variation or Variation()
        info = (await self._drafted(parent, at, chosen)).info
        if parent.status is Status.DONE:
            begin = at if chosen.before == 'recorded' else 0
            steps = await self.journal.transitions(run, after=begin)
            shape = await self.journal.shape(run)
            return await asyncio.to_thread(from_parent, chosen, at, steps, shape, info, self.services)
        others = RunQuery(pattern=parent.pattern, status=(Status.DONE,), limit=LOOKED_AT)
        found = (await self.journal.runs(others)).runs
        return await asyncio.to_thread(from_others, chosen, info, found, info.usage, self.services)

    async def rerun(
        self, run: RunId, *, title: str = '', paused: bool = False, budget: Budget | None = None
    ) -> RunId:
        """Start a run over: the same parameters, models, seed, options and budget, from the first step.

        Raises:
            UnknownRun, UnknownPattern, InvalidInput
        """
        live = Variation(before='live')
        return await self._fork(run, 0, live, title=title, paused=paused, budget=budget, kind='rerun')

    async def retry(
        self, run: RunId, *, title: str = '', paused: bool = False, budget: Budget | None = None
    ) -> RunId:
        """Fork a run that failed, or was cancelled, right before that: what failed is made again.

        Raises:
            UnknownRun, UnknownPattern, WorkspaceError
            EventRefused: the run has not failed.
        """
        at = await self.retry_at(run)
        return await self._fork(run, at, Variation(), title=title, paused=paused, budget=budget, kind='retry')

    async def retry_at(self, run: RunId) -> int:
        """The step that `retry` goes on from. Raises `UnknownRun`, `EventRefused`."""
        info = await self.journal.info(run)
        if not info.status.retriable:
            raise EventRefused(run, 'retry', f'it has not failed: it is {info.status}')
        return await last_good(self.journal, info)

    async def lineage(self, run: RunId) -> Kin:
        """The family of a run: a tree from the oldest of those it was forked from. Raises `UnknownRun`."""
        return tree(await self.journal.family(run))

    async def mark_winner(self, run: RunId) -> None:
        """Say that a run is the best of the variants that it was forked with. Raises `UnknownRun`."""
        info = await self.journal.info(run)
        group = info.options.get('group')
        for other in await self.journal.family(run) if group else [info]:
            if other.id != run and other.options.get('group') == group and WINNER in other.tags:
                await self.journal.annotate(other.id, tags=[tag for tag in other.tags if tag != WINNER])
        if WINNER not in info.tags:
            await self.journal.annotate(run, tags=[*info.tags, WINNER])

    async def _fork(  # noqa: PLR0913  (all but the first three have defaults)
        self,
        run: RunId,
        at: int,
        variation: Variation,
        *,
        title: str,
        paused: bool,
        budget: Budget | None,
        kind: Kind = 'fork',
        group: str = '',
    ) -> RunId:
        parent = await self.journal.info(run)
        draft = await self._drafted(parent, at, variation)
        begin = draft.info.parent_at
        plays = plays_of(variation, begin=begin, at=at, until=parent.seq)
        begins_paused = paused and not draft.info.parent_at
        marks = {
            'kind': kind if kind != 'fork' else '',
            'group': group,
            'paused': begins_paused,
            'play': plays and asdict(plays),
        }
        limited = budgeted(budget) or draft.info.budget
        if begin:
            says: dict[str, Any] = {
                'forked': f'{run}@{begin}',
                'playing': plays is not None and plays.strict,
                'paused': paused,
                'retried': kind == 'retry',
                'budget': limited and asdict(limited),
                **draft.data,
            }
            # Kept with it from the beginning, in case that it is cut off before its first step.
            marks['begins'] = plain({name: value for name, value in says.items() if value})
        info = replace(
            draft.info,
            title=title.strip() or draft.info.title,
            options={**draft.info.options, **{name: value for name, value in marks.items() if value}},
            tags=(*(tag for tag in draft.info.tags if tag != WINNER), *([group] if group else ())),
            budget=limited,
        )
        with self._waking_up(info.id):
            if not info.parent_at:
                await self.recordings.begin(info)
                if plays:
                    await self.workspaces.fork(run, info.id, ())
                await self.journal.create(info, draft.chart.shape)
                await self._begin(info, draft.chart, draft.state)
                return info.id
            moment = await self.fold(run, info.parent_at)
            await self.workspaces.fork(run, info.id, moment.view.files.values())
            await self.recordings.cut(run, moment.view, into=info.id)
            await self.journal.fork(info, draft.chart.shape)
            await self._resume(info.id, {})
        return info.id

    async def _player(self, info: RunInfo, ledger: Ledger, shape: Shape) -> Player | None:
        """What plays a run, if anything, at the step that its ledger stands at."""
        if 'play' not in info.options:
            return None
        plays, script = Plays.load(info.options['play']), Script()
        begin = plays.begin
        agents = (await self.fold(info.id, begin)).view.agents if begin else {}
        with suppress(UnknownRun):  # When it is gone, nothing is left to play.
            steps = await self.journal.transitions(info.parent or RunId(''), after=begin, until=plays.until)
            script = Script.of(steps, agents)
        player = Player(script, plays, ledger, shape)
        player.held = player.strict and bool(info.options.get('paused'))
        for turn in turns(await self.journal.transitions(info.id, after=begin)):
            player.saw(turn)
        return player

    @abstractmethod
    def watch(self, run: RunId, *, after: int = 0) -> AsyncIterator[Item]:
        """Its steps, and text; see `Conductor.watch`."""

    @abstractmethod
    def _waking_up(self, run: RunId) -> AbstractContextManager[None]: ...

    @abstractmethod
    async def _begin(self, info: RunInfo, chart: Chart, state: RunState) -> None: ...

    @abstractmethod
    async def _resume(self, run: RunId, data: Mapping[str, Any]) -> None: ...
