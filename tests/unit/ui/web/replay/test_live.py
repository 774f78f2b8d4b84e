"""Updates for a page that follows a run."""

from engine import LocalConductor
from ui.web.replay.live import Follower


async def test_no_streamed_piece_follows_the_step_with_the_whole_reply():
    async with LocalConductor() as conductor:
        run = (await conductor.start('pipeline', {'task': 'Tea or coffee?'})).id
        follower = Follower(conductor, await conductor.info(run), await conductor.shape(run))
        await follower.follow()
        updates = follower.collect_updates()
    assert updates is not None and updates.steps
    assert updates.text == {}  # all replies have ended and are part of the steps
