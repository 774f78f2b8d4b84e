"""Sends notifications until all are sent: `python -m tests.crash.webhook_sender DATABASE URL RUNS`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from engine import Budget, LocalConductor
from engine.records import RunQuery
from storage import open_journal
from tests.support.harness import FakeModel, catalog, start_run
from tests.unit.ui.app.services.test_inbox import Pair, reply
from ui.app.services.notifications import Channels, Destination, Notifications

DELAYS = (0.01,) * 60
"""Seconds between attempts."""
AT_ONCE = 10


async def send(database: Path, url: str, runs: int) -> None:
    """Create the missing runs, then send their notifications."""
    journal = await open_journal(database)
    async with LocalConductor(journal, catalog=catalog(FakeModel(reply), Pair)) as conductor:
        notifications = Notifications(conductor, Channels(), delays=DELAYS)
        if not await notifications.destinations.list():
            await notifications.destinations.add(Destination(name='Team', channel='webhook', address=url))
        missing = runs - len((await journal.runs(RunQuery(limit=runs))).runs)
        for _ in range(0, missing, AT_ONCE):
            begun = [
                await start_run(conductor, 'pair', budget=Budget(tokens=35), approvals='none')
                for _ in range(AT_ONCE)
            ]
            await asyncio.gather(*map(conductor.result, begun))
        print('the runs are there', flush=True)
        sending = asyncio.create_task(notifications.run())
        while await notifications.process_new_steps() or notifications.waiting:
            await conductor.clock.sleep(0.05)
        sending.cancel()
        print('all is sent', flush=True)


if __name__ == '__main__':
    asyncio.run(send(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
