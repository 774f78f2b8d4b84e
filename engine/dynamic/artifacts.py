"""Artifacts: named results that tools make, kept in their agent's state, and read by other tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from engine.frozen import Record

if TYPE_CHECKING:
    from engine.files.workspace import Workspace

MOST_KEPT = 50_000
"""Characters of an artifact in the journal; the whole of a longer one is kept beside the run's files."""
MOST_NAMES = 100
"""Artifacts of one agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a tool gives back."""

    text: str
    """For the model."""
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    """Texts or JSON values by name; each takes the place of what had its name."""
    adds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Entries for artifacts that are mappings: several calls can add to the same one."""
    drops: tuple[str, ...] = ()
    """Artifacts that hold no more: the result of tests, once a file is changed."""
    ok: bool = True
    """Whether it went well; a test run whose tests fail did not."""


class Artifact(Record):
    """One artifact as the journal has it."""

    value: Any
    """A text or a JSON value; of one that is too long, the beginning as text."""
    by: str = ''
    """The tool that made it; '' where it is what the agent itself said."""
    size: int = 0
    """Characters, of the text or of the JSON text."""
    kept: str = ''
    """Where the whole is, if it is too long: its id among the run's contents."""


class Shelf:
    """The artifacts of one agent while a batch of its tools runs."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values: dict[str, Any] = dict(values or {})
        self.changed: dict[str, str] = {}
        """Which the batch has made, and by which tool."""

    def take(self, tool: str, made: Given) -> None:
        """Put what a tool has made on the shelf."""
        for name in made.drops:
            if name in self.values:
                del self.values[name]
                self.changed[name] = tool
        for name, value in made.artifacts.items():
            self.values[name] = to_jsonable_python(value)
            self.changed[name] = tool
        for name, entries in made.adds.items():
            known = self.values.get(name)
            merged = dict(known) if isinstance(known, Mapping) else {}
            self.values[name] = merged | to_jsonable_python(entries)
            self.changed[name] = tool

    async def record(self, workspace: Workspace) -> dict[str, Any]:
        """What was changed, as it is journaled: None for what was dropped.

        What is too long is kept in the workspace.
        """
        found: dict[str, Any] = {}
        for name, tool in list(self.changed.items())[:MOST_NAMES]:
            found[name] = None
            if name in self.values:
                found[name] = (await artifact(self.values[name], tool, workspace)).model_dump()
        return found


async def artifact(value: Any, by: str, workspace: Workspace) -> Artifact:
    """An artifact made of a text or a JSON value."""
    text = as_text(value)
    if len(text) <= MOST_KEPT:
        return Artifact(value=value, by=by, size=len(text))
    kept = await workspace.keep(json.dumps(value, ensure_ascii=False).encode(errors='replace'))
    return Artifact(value=text[:MOST_KEPT], by=by, size=len(text), kept=kept)


async def whole(artifacts: Mapping[str, Artifact], names: Iterable[str], workspace: Workspace) -> Shelf:
    """A shelf with all of these artifacts, each of them whole."""
    shelf = Shelf({name: found.value for name, found in artifacts.items()})
    for name in names:
        if name in artifacts and artifacts[name].kept:
            shelf.values[name] = json.loads(await workspace.kept(artifacts[name].kept))
    return shelf


def as_text(value: Any) -> str:
    """A text as it is, and anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
