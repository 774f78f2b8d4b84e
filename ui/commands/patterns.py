"""hemicycle patterns: what can be run, and the files that could not be loaded."""

from __future__ import annotations

from rich.text import Text

from engine import Catalog, Fault, Pattern
from ui.commands.inputs import described, main_text
from ui.commands.options import AsJson, Patterns
from ui.commands.run import catalog_of
from ui.commands.session import settings_of
from ui.commands.showers import json_line
from ui.commands.wording import console
from ui.plain import plain

EPILOG = """Examples:

```
hemicycle patterns
hemicycle patterns --patterns ./my_patterns
```"""


def patterns(
    folders: Patterns = [],  # noqa: B006  (Typer copies it)
    as_json: AsJson = False,
) -> None:
    """List the patterns with their parameters, and what is wrong with files that could not be loaded."""
    catalog = catalog_of(settings_of('', patterns=folders))
    if as_json:
        _as_json(catalog)
        return
    out = console()
    for name in sorted(catalog.patterns):
        out.print(_told(catalog.patterns[name]))
    for fault in catalog.faults:
        out.print(Text(plain(f'not loaded: {_where(fault)}: {fault.problem}'), style='red'))


def _told(pattern: type[Pattern]) -> Text:
    text = Text(pattern.name, style='bold')
    text.append(f'  {pattern.title}\n', style='default')
    text.append(f'  {" ".join(pattern.summary.split())}\n', style='default')
    main = main_text(pattern)
    for name, bounds, purpose in described(pattern):
        option = f'--set {name}=' + (' or --task' if name == main else '')
        text.append(f'  {option:<32}', style='cyan')
        text.append(f'{purpose}{" " * bool(purpose)}({bounds})\n', style='default')
    return text


def _as_json(catalog: Catalog) -> None:
    for name, pattern in sorted(catalog.patterns.items()):
        schema = pattern.Parameters.model_json_schema()
        json_line(name=name, title=pattern.title, summary=pattern.summary, parameters=schema)
    for fault in catalog.faults:
        json_line(fault=fault.problem, path=fault.path, line=fault.line)


def _where(fault: Fault) -> str:
    return f'{fault.path}:{fault.line}' if fault.line else fault.path
