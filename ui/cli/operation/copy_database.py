"""hemicycle database copy: a whole database into an empty one, from SQLite to PostgreSQL or back."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ui.app.settings import Settings
from ui.cli.exit_codes import CODES
from ui.cli.operation.backup import Audit, audit_all, describe, report_audit
from ui.cli.output.errors import CommandError
from ui.cli.session import Session, with_session
from ui.formatting.values import count

EPILOG = f"""Examples:

```
hemicycle database copy hemicycle.db postgresql://db/hemicycle
hemicycle database copy postgresql://db/hemicycle hemicycle.db
```

{CODES}"""


@with_session('patterns')
def copy(
    source: Annotated[str, typer.Argument(metavar='FROM', help='A path, or a URL. It is not changed.')],
    target: Annotated[
        str, typer.Argument(metavar='TO', help='A path, or a URL: an empty database, or a new file.')
    ],
    check: Audit = True,
    *,
    session: Session,
) -> None:
    """Copy a whole database into an empty one: from SQLite to PostgreSQL, or back.

    It copies everything or nothing. Runs keep their ids; accounts, tokens, schedules, notes and the audit log
    are copied too. Stop servers and workers first: anything they write meanwhile would be missing. The files
    of runs stay where they are, in `HEMICYCLE_HOME`. Serve only one of the two databases afterwards: an
    unfinished run would continue in both.
    """
    storage, places = session.storage, (Settings.of(source), Settings.of(target))
    for place in places:
        file = storage.file(place)
        if (file is None or file.exists()) and (alive := storage.locks(place).live_owners()):
            using = f'{count(len(alive), "process", "processes")}, such as {alive[0]}'
            raise CommandError(f'{storage.name(place)} is in use by {using}: stop them, then try again')
    with typer.progressbar(length=1, label='Copying') as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        info = storage.copy(*places, progress)
    typer.echo(f'{storage.name(places[1])}: {describe(info)}')
    if check:
        report_audit(asyncio.run(audit_all(session, places[1])))
