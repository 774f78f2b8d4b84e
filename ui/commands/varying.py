"""What a fork changes, as it is typed on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from engine import Change, InvalidInput, Pattern, Play, Variation
from ui.commands.inputs import parameters_of


def variation_of(  # noqa: PLR0913  (what the command is given)
    pattern: type[Pattern],
    *,
    memory: Sequence[str] = (),
    models: dict[str, str] | None = None,
    prompts: Sequence[str] = (),
    tools: Sequence[str] = (),
    sets: Sequence[str] = (),
    before: str = 'recorded',
    play: str = 'live',
    plays: Sequence[str] = (),
    beyond: str = 'live',
) -> Variation:
    """A variation from options.

    Raises:
        InvalidInput: an option is not of its form; the engine itself checks what is in it.
        OSError: a file cannot be read.
    """
    return Variation(
        changes=tuple(_change(path, value) for path, value in _pairs('--set-memory', memory)),
        models=models or {},
        instructions={role: Path(file).read_text('utf-8') for role, file in _pairs('--prompt', prompts)},
        tools={
            role: [name.strip() for name in named.split(',') if name.strip()]
            for role, named in _pairs('--tools', tools)
        },
        parameters=parameters_of(pattern, None, sets),
        before=cast(Play, before),
        after=cast(Play, play),
        plays={where: cast(Play, how) for where, how in _pairs('--plays', plays)},
        beyond=beyond,  # type: ignore[arg-type]  # the engine says what it may be
    )


def _change(path: str, value: str) -> Change:
    if not path.startswith('/'):
        raise InvalidInput({'--set-memory': f'must be /memory/FIELD=VALUE, not {path!r}'})
    return Change(op='replace', path=path, value=_json(value))


def _json(text: str) -> Any:
    """A value as JSON; what is none is the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _pairs(option: str, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    known = set[str]()
    for item in given:
        name, equals, value = item.partition('=')
        name = name.strip()
        if not equals or not name or name in known:
            raise InvalidInput({option: f'must be NAME=VALUE, once for each name, not {item!r}'})
        known.add(name)
        yield name, value
