"""Options of commands, derived from the fields of a record."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from engine import InvalidInput
from ui.cli.inputs import check_choice, parse_by_role
from ui.cli.options import Command, replace_parameter
from ui.formatting.fields.record_fields import RecordField, record_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionNote:
    """What an option has beside its field's type and help."""

    name: str = ''
    """By default the field's name; without its plural s if the option can be repeated."""
    metavar: str = ''
    panel: str = ''
    """The panel of the help that lists it."""
    variable: str = ''
    """The environment variable that sets it."""
    hint: str = ''
    """Added to the help."""
    parse: Callable[[Any], Any] | None = None
    """Parses the value, or the values of a repeated option."""
    once: bool = False
    """Whether it is one value, although its field holds several."""


@dataclass(frozen=True, slots=True)
class RecordOption:
    """An option for a field of a record, or for a field of a record in it."""

    name: str
    parameter: inspect.Parameter
    path: tuple[str, ...]
    """The names of the field: `('budget', 'tokens')`."""
    parse: Callable[[Any], Any]

    def read(self, value: Any, values: dict[str, Any]) -> None:
        """Add what was given for it to the record's values. Raises `InvalidInput`."""
        if value is not None:
            *outer, name = self.path
            for part in outer:
                values = values.setdefault(part, {})
            values[name] = self.parse(value)


def with_options(parameter: str, options: Collection[RecordOption]) -> Callable[[Command], Command]:
    """Add options to a command in place of a parameter, which gets the values that were given, by field.

    Help lists them where that parameter is.
    """
    added = [option.parameter for option in options]

    def read(given: dict[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for option in options:
            option.read(given[option.parameter.name], values)
        return values

    return lambda command: replace_parameter(command, parameter, added, read)


def check_changes(values: Mapping[str, Any], options: Collection[RecordOption]) -> None:
    """Raise `InvalidInput` if no change was given."""
    if not values:
        names = ', '.join(f'--{option.name}' for option in options)
        raise InvalidInput({'change': f'give what to change: {names}'})


def record_options(
    record: Any,
    *,
    without: Collection[str] = (),
    arguments: Collection[str] = (),
    notes: Mapping[str, OptionNote] | None = None,
    changes: bool = False,
) -> list[RecordOption]:
    """Return an option for each field of a record, but for computed ones.

    Args:
        record: the dataclass or model.
        without: fields without an option, such as `name` or `policy.overlap`.
        arguments: fields that are arguments instead: they are required, and named by their place.
        notes: what options have beside their field's type and help, by field.
        changes: whether the command changes a record: flags can be switched off, and there are no defaults.
    """
    notes, options = notes or {}, []
    for field in record_fields(record):
        note = notes.get(field.name, OptionNote())
        nested: Any = next((kind for kind in (field.kind, *get_args(field.kind)) if is_dataclass(kind)), None)
        if field.computed or field.name in without:
            continue
        if field.name in arguments:
            options.append(_argument(field))
        elif nested and get_origin(field.kind) is not tuple:
            for inner in record_fields(nested):
                path = f'{field.name}.{inner.name}'
                if path not in without:
                    options.append(_option(inner, notes.get(path, note), (field.name,), changes))
        else:
            options.append(_option(field, note, (), changes))
    return options


def _argument(field: RecordField) -> RecordOption:
    info = typer.Argument(metavar=field.name.upper(), help=field.help)
    parameter = _parameter(field.name, Annotated[str, info])
    return RecordOption(field.name.upper(), parameter, (field.name,), _unchanged)


def _option(field: RecordField, note: OptionNote, outer: tuple[str, ...], changes: bool) -> RecordOption:
    kind = get_args(field.kind)[0] if get_origin(field.kind) in (Union, UnionType) else field.kind
    origin, inside = get_origin(kind), get_args(kind)
    repeated = origin in (Mapping, dict, tuple, list) and not note.once
    name = note.name or '-'.join((*outer, field.name)).removesuffix('s' if repeated else '')
    metavar = note.metavar or (f'[ROLE=]{name.upper()}' if origin is Mapping else '')
    choices = get_args(inside[0]) if repeated and get_origin(inside[0]) is Literal else ()
    parse: Callable[[Any], Any] = _unchanged
    if note.parse:
        parse = note.parse
    elif origin is Mapping:
        in_lists = inside[1] is not str
        parse = functools.partial(_by_role, f'--{name}', metavar.partition(']')[2], in_lists=in_lists)
    elif repeated:
        parse = functools.partial(_each, _chooser(name, choices) if choices else _unchanged)
        metavar = metavar or name.upper()
    elif origin is Literal:
        parse, metavar = _chooser(name, inside), '|'.join(inside)
    if kind is str:
        metavar = metavar or name.upper()
    hint = f': {", ".join(f"`{choice}`" for choice in choices)}.' if choices else note.hint
    text = f'{field.help.removesuffix(".")}{hint}' if hint[:1] == ':' else field.help + hint
    if repeated:
        text += ' Repeatable.'
    elif origin is Literal and not changes:
        text += f' Default: `{field.default}`.'
    info = typer.Option(
        f'--{name}/--no-{name}' if kind is bool and changes else f'--{name}',
        metavar=metavar or None,
        help=text,
        envvar=note.variable or None,
        rich_help_panel=note.panel or None,
    )
    is_text = origin is Literal or (note.parse is not None and kind is not bool)
    typed = list[str] if repeated else str if is_text else kind
    parameter = _parameter('_'.join((*outer, field.name)), Annotated[typed | None, info], default=None)
    return RecordOption(name, parameter, (*outer, field.name), parse)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _unchanged(value: Any) -> Any:
    return value


def _chooser(name: str, choices: Collection[str]) -> Callable[[str], str]:
    def choose(value: str) -> str:
        check_choice(f'--{name}', value, choices)
        return value

    return choose


def _by_role(option: str, what: str, texts: list[str], *, in_lists: bool) -> dict[str, Any]:
    values = parse_by_role(texts, option, what)
    return {role: text.split(',') for role, text in values.items()} if in_lists else dict(values)


def _each(parse: Callable[[str], Any], texts: list[str]) -> list[Any]:
    return [parse(text) for text in texts if text]
