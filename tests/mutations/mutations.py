"""The mutations: what each breaks, how, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One deliberate bug."""

    name: str
    module: str
    before: str
    """Text that occurs once in the module."""
    after: str
    guards: tuple[str, ...]
    """Tests (files or single ones), at least one of which must fail."""

    def apply(self, text: str) -> str:
        """Return the module's source with the bug in it."""
        return text.replace(self.before, self.after)


LAW = 'tests/unit/engine/runtime/test_ordering.py'
RUN = 'tests/unit/engine/runtime/test_run.py'
RECOVER = 'tests/unit/engine/runtime/test_recovery.py'
RECORDER = 'tests/unit/engine/runtime/test_recorder.py'
WATCH = 'tests/unit/engine/runtime/test_watch.py'
WRITER = 'tests/unit/storage/test_writer.py'
JOURNAL = 'tests/contract/journal/test_journal.py'
FORK = 'tests/unit/engine/history/test_fork_tools.py'

BUDGET = 'tests/unit/engine/runtime/test_budget.py'
PLAYBACK = 'tests/unit/engine/history/test_playback.py'
CONTROL = 'tests/unit/engine/runtime/test_run_control.py'
FLEET = 'tests/unit/ui/fleet/test_commands.py'

MUTATIONS = (
    Mutation(
        name='handle a repeated event again',
        module='engine.runtime.run',
        before='        if event.key in projection.keys:\n',
        after='        if False:\n',
        guards=(f'{CONTROL}::test_a_repeated_event_is_recognized_by_its_key_after_a_restart',),
    ),
    Mutation(
        name='send a command to a worker without a key',
        module='ui.fleet.web',
        before="{**conditions, 'at': at, 'data': data or {}, 'key': key}",
        after="{**conditions, 'at': at, 'data': data or {}}",
        guards=(FLEET,),
    ),
    Mutation(
        name='act before the step is journaled',
        module='engine.runtime.run',
        before="""\
        self.info = await self._recorder.write(self.info, self.projection, steps, self.state.dump_tails)
        for step in steps:
            self.context.feed.publish(step)
        stopped = self.world.act(steps)
""",
        after="""\
        stopped = self.world.act(steps)
        self.info = await self._recorder.write(self.info, self.projection, steps, self.state.dump_tails)
        for step in steps:
            self.context.feed.publish(step)
""",
        guards=(f'{LAW}::test_no_work_starts_before_its_step_is_journaled',),
    ),
    Mutation(
        name='publish a step before it is journaled',
        module='engine.runtime.run',
        before="""\
        self.info = await self._recorder.write(self.info, self.projection, steps, self.state.dump_tails)
        for step in steps:
            self.context.feed.publish(step)
""",
        after="""\
        for step in steps:
            self.context.feed.publish(step)
        self.info = await self._recorder.write(self.info, self.projection, steps, self.state.dump_tails)
""",
        guards=(f'{LAW}::test_no_watcher_sees_a_step_before_it_is_journaled',),
    ),
    Mutation(
        name='accept the end of an earlier visit',
        module='engine.runtime.run',
        before='if event.since and self.projection.entered.get(event.at, (0,))[0] != event.since:',
        after='if False:',
        guards=(f'{LAW}::test_a_late_result_of_a_visit_is_dropped_while_its_successor_is_being_journaled',),
    ),
    Mutation(
        name='continue a run whose journal failed',
        module='engine.runtime.run',
        before='            await self._lose_ownership(error)\n',
        after='',
        guards=(f'{RECOVER}::test_a_journal_that_fails_for_good_stops_the_run_before_it_acts',),
    ),
    Mutation(
        name='let time run backwards',
        module='engine.host.clock',
        before='self.ahead = max(self.ahead, self._latest() - now)',
        after='pass',
        guards=(f'{RUN}::test_time_never_runs_backwards_in_a_history',),
    ),
    Mutation(
        name='accept events after the end',
        module='engine.runtime.run',
        before='        if projection.status.ended:\n            raise',
        after='        if False:\n            raise',
        guards=(f'{LAW}::test_a_queued_event_is_refused_when_the_run_ends',),
    ),
    Mutation(
        name='end a run at a dead end while an event waits',
        module='engine.runtime.run',
        before='            or self.mailbox.waiting\n        ):',
        after='        ):',
        guards=(f'{RUN}::test_work_that_ends_while_a_pause_is_journaled_is_not_a_dead_end',),
    ),
    Mutation(
        name='acknowledge an event before it is handled',
        module='engine.runtime.mailbox',
        before="""\
        try:
            await self._handle(envelope)
""",
        after="""\
        try:
            if envelope.answer:
                envelope.answer.set_result(None)
            await self._handle(envelope)
""",
        guards=(f'{LAW}::test_no_work_starts_before_its_step_is_journaled',),
    ),
    Mutation(
        name='read the visit when its work starts',
        module='engine.runtime.world.activity_runner',
        before='                since=since,\n                services=',
        after='                since=self._since(path),\n                services=',
        guards=(f'{LAW}::test_work_belongs_to_its_visit_even_if_the_next_is_already_decided',),
    ),
    Mutation(
        name='make an attempt of a visit that is being left',
        module='engine.runtime.world.activity_runner',
        before='        if self._since(path) != since:\n            return',
        after='        if False:\n            return',
        guards=(f'{LAW}::test_a_retry_due_while_its_visit_is_ending_is_not_made',),
    ),
    Mutation(
        name='let cancelled work end the next visit',
        module='engine.runtime.world.activity_runner',
        before='\n        if self._tasks.get(path) is task:  #',
        after='\n        if True:  #',
        guards=(f'{RUN}::test_work_that_ignores_cancellation_cannot_end_the_next_visit',),
    ),
    Mutation(
        name='show what cancelled work streams',
        module='engine.runtime.world.activity_runner',
        before='            if self._tasks.get(path) is task:  #',
        after='            if True:  #',
        guards=(f'{RUN}::test_cancel_stops_the_work_and_drops_its_result',),
    ),
    Mutation(
        name='let the work of a left state continue',
        module='engine.runtime.world.activity_runner',
        before='                stopped.extend(self._stop(path))\n',
        after='',
        guards=(f'{LAW}::test_no_work_starts_before_its_step_is_journaled',),
    ),
    Mutation(
        name='end before cancelled work has cleaned up',
        module='engine.runtime.world.activity_runner',
        before='            await asyncio.wait(tasks, timeout=STOP_SECONDS)',
        after='            await asyncio.sleep(0)',
        guards=(f'{RUN}::test_cancel_stops_the_work_and_drops_its_result',),
    ),
    Mutation(
        name='start work in a paused run',
        module='engine.runtime.world.activity_runner',
        before='if self.withheld or self._projection.pauses.holds(path):',
        after='if self.withheld:',
        guards=(f'{RUN}::test_a_pause_lets_current_work_end_and_starts_nothing_new',),
    ),
    Mutation(
        name='let timeouts run during a pause',
        module='engine.runtime.world.activity_runner',
        before="            case 'pause':\n                self._timers.suspend()",
        after="            case 'pause':\n                pass",
        guards=(f'{RUN}::test_timeouts_stop_during_a_pause',),
    ),
    Mutation(
        name='time a visit by the next one',
        module='engine.runtime.world.timeouts',
        before="self._post(Event(name='expired', at=path, since=since,",
        after="self._post(Event(name='expired', at=path, since=self._projection.entered[path][0],",
        guards=(f'{LAW}::test_a_late_timeout_of_a_visit_is_dropped_while_its_successor_is_being_journaled',),
    ),
    Mutation(
        name='give up when the journal is full',
        module='engine.runtime.recorder',
        before='            await context.services.clock.sleep(wait)\n',
        after='            raise\n',
        guards=(f'{RECORDER}::test_a_full_journal_is_reported_and_waited_for',),
    ),
    Mutation(
        name='retry a full journal immediately',
        module='engine.runtime.recorder',
        before='wait = min(MAX_WAIT, wait * 2)',
        after='wait = FIRST_WAIT',
        guards=(f'{RECORDER}::test_a_full_journal_is_reported_and_waited_for',),
    ),
    Mutation(
        name='store a snapshot as often as possible',
        module='engine.runtime.recorder',
        before=' and self._weight >= self._last_weight',
        after='',
        guards=(f'{RECORDER}::test_snapshots_take_no_more_space_than_the_steps',),
    ),
    Mutation(
        name='store no snapshot',
        module='engine.runtime.recorder',
        before='due = projection.seq - self._last_seq >= SNAPSHOT_STEPS',
        after='due = projection.seq < 0',
        guards=(f'{RECORDER}::test_snapshots_of_constant_size_are_taken_as_often_as_allowed',),
    ),
    Mutation(
        name='store a snapshot of the previous step',
        module='engine.runtime.recorder',
        before='snapshot_of(info.id, projection, *dump(self._unchanged))',
        after='replace(snapshot_of(info.id, projection, *dump(self._unchanged)), seq=projection.seq - 1)',
        guards=(f'{RECORDER}::test_snapshots_equal_the_folded_steps',),
    ),
    Mutation(
        name='yield a step twice to a watcher',
        module='engine.runtime.feed',
        before='            if item.seq <= seq:\n                continue\n',
        after='',
        guards=(WATCH,),
    ),
    Mutation(
        name='let a watcher miss a step',
        module='engine.runtime.feed',
        before='return following, seq, False  #',
        after='pass  #',
        guards=(WATCH,),
    ),
    Mutation(
        name='forget that a watcher was overrun',
        module='engine.runtime.feed',
        before='                and not subscription.overrun\n',
        after='',
        guards=(f'{WATCH}::test_a_dropped_step_is_read_from_the_journal',),
    ),
    Mutation(
        name='end watching before the last step',
        module='engine.runtime.feed',
        before='if info.status.ended and seq >= info.seq:',
        after='if info.status.ended:',
        guards=(WATCH,),
    ),
    Mutation(
        name='look at the journal of an ended run late',
        module='engine.runtime.feed',
        before='                and live == is_live()\n',
        after='',
        guards=(f'{WATCH}::test_the_end_of_a_run_is_reported_immediately',),
    ),
    Mutation(
        name='commit a transaction later',
        module='storage.sqlite.writer',
        before="            self._connection.execute('COMMIT')\n",
        after='',
        guards=(f'{JOURNAL}::test_bytes_are_counted',),
    ),
    Mutation(
        name='acknowledge an unwritten step',
        module='storage.sqlite.writer',
        before='        if job.error is None:\n',
        after='        if True:\n',
        guards=(f'{WRITER}::test_a_refusal_fails_alone',),
    ),
    Mutation(
        name='let one failed write fail the others',
        module='storage.sqlite.writer',
        before='            if len(batch) == 1:\n',
        after='            if True:\n',
        guards=(f'{WRITER}::test_an_error_after_a_write_rolls_back_only_that_write',),
    ),
    Mutation(
        name='commit half of a failed write',
        module='storage.sqlite.writer',
        before="                self._connection.execute('ROLLBACK')\n",
        after="                self._connection.execute('COMMIT')\n",
        guards=(f'{WRITER}::test_an_error_after_a_write_rolls_back_only_that_write',),
    ),
    Mutation(
        name='drop queued writes on closing',
        module='storage.sqlite.writer',
        before='                self._queue(self._gathered.pop(loop, []))\n',
        after='                self._gathered.pop(loop, [])\n',
        guards=(f'{WRITER}::test_closing_flushes_the_queue',),
    ),
    Mutation(
        name='commit synced writes on the event loop',
        module='storage.sqlite.writer',
        before="            and self._settings.synchronous == 'normal'\n",
        after='',
        guards=('tests/unit/storage/test_short_commits.py::test_synced_commits_are_made_by_the_thread',),
    ),
    Mutation(
        name='let a stale owner write',
        module='storage.sqlite.append',
        before="RUN.c.epoch == bindparam('owned')",
        after="RUN.c.epoch >= bindparam('owned')",
        guards=(f'{JOURNAL}::test_a_stale_owner_writes_nothing',),
    ),
    Mutation(
        name='write a step out of sequence',
        module='storage.sqlite.append',
        before="RUN.c.seq == bindparam('before')",
        after="RUN.c.seq <= bindparam('before')",
        guards=(f'{JOURNAL}::test_a_wrong_seq_writes_nothing',),
    ),
    Mutation(
        name='let a stale owner write to PostgreSQL',
        module='storage.postgres.append',
        before='AND epoch = %s',
        after='AND epoch >= %s',
        guards=(f'{JOURNAL}::test_a_stale_owner_writes_nothing',),
    ),
    Mutation(
        name='write a step out of sequence to PostgreSQL',
        module='storage.postgres.append',
        before='AND epoch = %s AND seq = %s',
        after='AND epoch = %s AND seq <= %s',
        guards=(f'{JOURNAL}::test_a_wrong_seq_writes_nothing',),
    ),
    Mutation(
        name='recover a fork without the files that its process had no time to copy',
        module='engine.runtime.live_runs',
        before='            if new and not equipped:\n',
        after='            if False:\n',
        guards=(f'{FORK}::test_recovery_copies_the_files_of_an_interrupted_fork',),
    ),
    Mutation(
        name='leave a run whose files could not be made',
        module='engine.runtime.live_runs',
        before='await asyncio.shield(self._discard(run))',
        after='await asyncio.sleep(0)',
        guards=(f'{FORK}::test_a_fork_whose_files_cannot_be_copied_leaves_neither_a_run_nor_files',),
    ),
    Mutation(
        name='interrupt work as soon as the budget is spent',
        module='engine.runtime.world.budget_enforcer',
        before='        if not meter.closing and (over or not self._runner.running_states):\n',
        after='        if not meter.closing:\n',
        guards=(f'{BUDGET}::test_work_in_progress_may_end_within_the_grace',),
    ),
    Mutation(
        name='let work continue beyond the grace period',
        module='engine.runtime.world.budget_enforcer',
        before='        over = meter.is_grace_over(self._since())\n',
        after='        over = False\n',
        guards=(f'{BUDGET}::test_work_beyond_the_grace_is_cut_off',),
    ),
    Mutation(
        name='replay the next event although a person has paused the fork',
        module='engine.history.forks.replayer',
        before='        return self.strict and self.held and not self._single_step\n',
        after='        return False\n',
        guards=(f'{PLAYBACK}::test_a_replaying_fork_can_be_paused',),
    ),
    Mutation(
        name='replay a recorded event twice',
        module='engine.history.forks.replayer',
        before='        self._items.remove(played)\n',
        after='',
        guards=(f'{PLAYBACK}::test_a_replaying_fork_can_be_stepped',),
    ),
)
