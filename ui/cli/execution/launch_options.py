"""The options of commands that launch runs, now or later: derived from the fields of `Launch`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typer

from engine import Breakpoint, Budget
from engine.records import Launch
from ui.cli.execution.breakpoints import parse_breakpoint
from ui.cli.inputs import parse_by_role
from ui.formatting.record_fields import RecordField, record_fields

OWN: Final = ('pattern', 'parameters')
"""Fields that each command takes in its own way."""
NAMES: Final = {'breakpoints': 'break'}
"""Names of options, where they are not the field's in the singular."""
AGAIN, DEBUG, LIMITS = 'Reproducibility', 'Debugging', 'Budget'
PANELS: Final = {'record': AGAIN, 'replay': AGAIN, 'seed': AGAIN, 'paused': DEBUG, 'breakpoints': DEBUG}
VARIABLES: Final = {'record': 'HEMICYCLE_RECORD'}
METAVARS: Final = {
    'replay': 'RUN',
    'breakpoints': 'WHERE',
    'effort': '[ROLE=]LEVEL',
    'instructions': '[ROLE=]TEXT',
    'tools': '[ROLE=]NAMES',
}
HINTS: Final = {
    'replay': ' Options not given are as in that run.',
    'breakpoints': ': `enter STATE`, `leave STATE`, `edge A>B`, and `when CONDITION`, or both; see'
    ' `hemicycle break --help`.',
}


def with_launch(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add an option for each field of `Launch` to a command, in place of its parameter `launch`.

    Help lists them where that parameter is. The command gets the values that were given, by field.

    Args:
        without: fields for which the command has no option.
    """
    added = launch_options(Launch, (*OWN, *without))

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**values: Any) -> None:
            launch: dict[str, Any] = {}
            for option in added:
                option.read(values.pop(option.parameter.name), launch)
            command(**values, launch=launch)

        own = inspect.signature(command, eval_str=True).parameters
        options = [option.parameter for option in added]
        both = [one for name in own for one in (options if name == 'launch' else [own[name]])]
        run.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
        return run

    return decorate


@dataclass(frozen=True, slots=True)
class LaunchOption:
    """An option of a command for a field of a launch, or for a field of its budget."""

    parameter: inspect.Parameter
    path: tuple[str, ...]
    """The names of the field: `('budget', 'tokens')`."""
    parse: Callable[[Any], Any]

    def read(self, value: Any, launch: dict[str, Any]) -> None:
        """Add what was given for it to a launch. Raises `InvalidInput`."""
        if value is not None:
            *outer, name = self.path
            for part in outer:
                launch = launch.setdefault(part, {})
            launch[name] = self.parse(value)


def launch_options(record: Any, without: Sequence[str]) -> list[LaunchOption]:
    """Return the options for the fields of a record."""
    return [
        option
        for field in record_fields(record)
        if field.name not in without
        for option in (
            [_option(limit, ('budget',)) for limit in record_fields(Budget)]
            if field.kind == Budget | None
            else [_option(field)]
        )
    ]


def _option(field: RecordField, outer: tuple[str, ...] = ()) -> LaunchOption:
    kind, name = field.kind, NAMES.get(field.name, '-'.join((*outer, field.name)))
    origin, inside = get_origin(kind), get_args(kind)
    parse: Callable[[Any], Any] = _unchanged
    metavar = METAVARS.get(field.name)
    annotation: Any = kind
    if type(None) in inside:
        annotation = inside[0]
    if origin in (Mapping, tuple):
        annotation, name = list[str], name.removesuffix('s')
    if origin is Mapping:
        metavar = metavar or f'[ROLE=]{name.upper()}'
        parse = functools.partial(
            _by_role, f'--{name}', metavar.partition(']')[2], in_list=inside[1] is not str
        )
    elif inside == (Breakpoint, ...):
        parse = _breakpoints
    elif origin is tuple:
        parse = _without_empty
    elif origin is Literal:
        annotation, metavar = str, '|'.join(inside)
    hint = HINTS.get(field.name, '')
    hint += ' Repeatable.' if annotation == list[str] else ''
    hint += f' Default: `{field.default}`.' if origin is Literal else ''
    text = field.help.removesuffix('.') + hint if hint.startswith(':') else field.help + hint
    info = typer.Option(
        f'--{name}',
        metavar=metavar,
        help=text,
        envvar=VARIABLES.get(field.name),
        rich_help_panel=LIMITS if outer else PANELS.get(field.name),
        show_default=False,
    )
    parameter = inspect.Parameter(
        '_'.join((*outer, field.name)),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[annotation | None, info],
    )
    return LaunchOption(parameter, (*outer, field.name), parse)


def _unchanged(value: Any) -> Any:
    return value


def _without_empty(texts: list[str]) -> list[str]:
    return [text for text in texts if text]


def _by_role(option: str, what: str, texts: list[str], *, in_list: bool) -> dict[str, Any]:
    values = parse_by_role(texts, option, what)
    return {role: text.split(',') for role, text in values.items()} if in_list else dict(values)


def _breakpoints(texts: list[str]) -> list[Breakpoint]:
    return [parse_breakpoint(text) for text in texts]
