"""What is otherwise in a fork than in the run that it came from, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine import RunInfo, Transition
from ui.panes.jumps import named
from ui.presenters.reading import short, speaker

MOST = 40
"""Characters of a value."""
SAME = 'as the original'


def otherwise(parent: RunInfo | None, info: RunInfo, begin: Transition | None) -> str:
    """One line for people.

    Args:
        parent: the run that was forked; None if it is not there any more.
        info: the fork.
        begin: its own first step, which holds its edits.
    """
    said = [*_edited(begin.event.data if begin else {}), *(_given(parent, info) if parent else ())]
    if dict(info.options.get('play') or {}).get('after') == 'recorded':
        said.append('played from the record')
    return ', '.join(dict.fromkeys(said)) or SAME


def _edited(data: Mapping[str, Any]) -> Iterator[str]:
    for change in data.get('changes') or ():
        pointer = str(change['path'])
        if pointer.startswith('/memory/'):
            yield f'{named(pointer)} = {short(change.get("value"), MOST)}'
        elif '/messages/' in pointer:
            yield 'agents were told something else'


def _given(parent: RunInfo, info: RunInfo) -> Iterator[str]:
    for name, value in info.parameters.items():
        if value != parent.parameters.get(name):
            yield f'{name.replace("_", " ")} = {short(value, MOST)}'
    for role, model in info.models.items():
        if model != parent.models.get(role, parent.models.get('')):
            yield f'{speaker(role) if role else "all"}: {model}'
    for what in ('instructions', 'tools'):
        before, now = (dict(run.options.get(what) or {}) for run in (parent, info))
        for role in now:
            if now[role] != before.get(role):
                yield f'{speaker(role)}: other {what}'
