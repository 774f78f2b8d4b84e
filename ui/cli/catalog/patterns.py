"""hemicycle pattern list: the patterns that can be run, and the files that could not be loaded."""

from __future__ import annotations

import asyncio

from rich.text import Text

from ui.app.colours import FAILED
from ui.cli.inputs import describe_parameters
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.remote import find_patterns
from ui.cli.session import Session, with_session
from ui.formatting.fields.parameters import PatternInfo, PatternList, main_parameter
from ui.formatting.plain_text import strip_control

EPILOG = """Examples:

```
hemicycle pattern list
hemicycle pattern list --patterns ./my_patterns
hemicycle pattern list --server http://127.0.0.1:8080
```"""


@with_session('patterns', 'as_json', 'server')
def list_patterns(*, session: Session) -> None:
    """List patterns with their parameters, and files that could not be loaded."""
    listing = asyncio.run(find_patterns(session))
    if session.as_json:
        _as_json(listing)
        return
    out = console()
    for pattern in listing.patterns:
        out.print(_format(pattern))
    for fault in listing.faults:
        where = f'{fault.path}:{fault.line}' if fault.line else fault.path
        out.print(Text(strip_control(f'not loaded: {where}: {fault.problem}'), style=FAILED))


def _format(pattern: PatternInfo) -> Text:
    text = Text(pattern.name, style='bold')
    text.append(f'  {pattern.title}', style='default')
    text.append(f'  {pattern.version}\n', style='dim')
    text.append(f'  {pattern.summary}\n', style='default')
    main = main_parameter(pattern.parameters)
    for name, bounds, purpose in describe_parameters(pattern):
        option = f'--set {name}=' + (' or --task' if name == main else '')
        text.append(f'  {option:<32}', style='bold')
        text.append(f'{purpose}{" " * bool(purpose)}({bounds})\n', style='default')
    return text


def _as_json(listing: PatternList) -> None:
    for pattern in listing.patterns:
        print_json(
            name=pattern.name,
            title=pattern.title,
            version=pattern.version,
            summary=pattern.summary,
            parameters=pattern.parameters,
        )
    for fault in listing.faults:
        print_json(fault=fault.problem, path=fault.path, line=fault.line)
