"""ForkSetup: gives a fork the files and recorded events it starts from."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from engine.errors import UnknownRun
from engine.history.audit import group_turns
from engine.history.forks.fork_records import ReplayPolicy
from engine.history.forks.replay_log import ReplayLog
from engine.history.forks.replayed_world import ReplayedWorld
from engine.history.forks.replayer import Replayer
from engine.journal.fold_reader import read_fold
from engine.journal.projection import RunProjection
from engine.journal.protocol import Journal
from engine.records import RunId, RunInfo, Shape
from engine.runtime.activity import LiveRun
from engine.runtime.run_recordings import Recordings
from engine.runtime.world.world import World
from engine.workspace.workspaces import Workspaces


class ForkSetup:
    """Prepares new runs; see `RunSetup`."""

    def __init__(self, journal: Journal, workspaces: Workspaces, recordings: Recordings) -> None:
        self._journal, self._workspaces, self._recordings = journal, workspaces, recordings

    async def equip(self, info: RunInfo) -> None:
        """Give a run that has not started its initial files.

        The run is already in the journal: if the process dies partway, recovery repeats this call, and
        deleting the run removes the files.

        Raises:
            InvalidInput, WorkspaceError
        """
        await self._recordings.copy_source(info)
        if info.parent is None:
            return
        if info.parent_at:
            view = (await read_fold(self._journal, info.id, info.parent_at)).view
            await self._workspaces.fork(info.parent, info.id, view.files.values())
            await self._recordings.fork(info.parent, view, into=info.id)
        elif 'play' in info.options or info.given_files:
            await self._workspaces.fork(info.parent, info.id, ())

    async def find_world(
        self, info: RunInfo, projection: RunProjection, shape: Shape
    ) -> Callable[[LiveRun], World]:
        """Return what makes a run's world: from its projection's current step on, events may be replayed."""
        if 'play' not in info.options:
            return World
        plays, script = ReplayPolicy(**info.options['play']), ReplayLog()
        begin = plays.begin
        agents = (await read_fold(self._journal, info.id, begin)).view.agents if begin else {}
        with suppress(UnknownRun):  # If the parent is gone, there is nothing to replay.
            steps = await self._journal.transitions(info.parent or RunId(''), after=begin, until=plays.until)
            script = ReplayLog.of(steps, agents)
        replayer = Replayer(script, plays, projection, shape)
        replayer.held = replayer.strict and bool(info.options.get('paused'))
        for turn in group_turns(await self._journal.transitions(info.id, after=begin)):
            replayer.advance(turn)
        return partial(ReplayedWorld, replayer)
