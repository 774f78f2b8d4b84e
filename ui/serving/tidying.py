"""Has the retention policy applied while a server runs: at its start, and once a day."""

from __future__ import annotations

import logging

from engine import Conductor, EngineError

log = logging.getLogger('hemicycle')

DAY = 86_400.0


async def tidy_daily(conductor: Conductor) -> None:
    """Go on for ever; what is done, and what went wrong, is in the log."""
    while True:
        try:
            tidied = await conductor.tidy()
        except (EngineError, OSError) as error:
            log.error('the retention policy could not be applied: %s', error)
        else:
            for item in tidied.taken:
                log.info('run %s is deleted by the retention policy: %s', item.info.id, item.reason)
            for run in tidied.purged:
                log.info('run %s is removed for good', run)
        await conductor.clock.sleep(DAY)
