"""hemicycle fork send-back: send an agent's work back to it, with instructions, in a fork."""

from __future__ import annotations

from typing import Annotated

import typer

from engine import Conductor, InvalidInput
from engine.records import RunId
from ui.cli.execution.fork import start_and_show
from ui.cli.execution.run import print_reach
from ui.cli.exit_codes import CODES
from ui.cli.options import RunName
from ui.cli.session import Session, with_session

EPILOG = f"""Examples:

```
hemicycle fork send-back last racer2 "Keep the old name of the function."
```

{CODES}"""


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def send_back(
    run: RunName,
    agent: Annotated[str, typer.Argument(metavar='AGENT', help='The agent that is to continue.')],
    text: Annotated[str, typer.Argument(metavar='TEXT', help='What it is to do, as its next message.')],
    *,
    session: Session,
) -> None:
    """Send an agent's work back to it with instructions: a fork from its last turn, shown until it ends.

    The original is not touched. The fork costs what the agent and those after it cost.
    """
    if not text.strip():
        raise InvalidInput({'TEXT': 'must not be empty'})

    async def begin(conductor: Conductor, run_id: RunId) -> RunId:
        print_reach(session.catalog, (await conductor.info(run_id)).models.values())
        return await conductor.merging.send_back(run_id, agent, text)

    start_and_show(session, run, begin)
