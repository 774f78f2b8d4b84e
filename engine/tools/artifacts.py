"""Artifacts: named results of tools, stored in their agent's state and read by other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from engine.records.message import Image
from engine.records.products import Artifact

if TYPE_CHECKING:
    from engine.workspace.workspace import Workspace

MAX_JOURNALED = 50_000
"""Maximum characters of an artifact in the journal; longer ones are stored in full in the run's files."""
MARK = re.compile(r'^\s*(?:[-*+]|\d+[.)])\s+')
"""The marker of a list item."""
MAX_NAMES = 100
"""Maximum number of artifacts per agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What a tool returns: a text for the model, and what it made."""

    text: str
    """The text for the model."""
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    """Texts or JSON values by name; each replaces any artifact with that name."""
    adds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Entries to add to mapping artifacts; several calls can add to the same one. If two calls in a batch add
    the same entry, both are stored, the second as `name (2)`."""
    drops: tuple[str, ...] = ()
    """Artifacts that are no longer valid, such as test results once a file has changed."""
    images: tuple[Image, ...] = ()
    """For models that accept images."""
    ok: bool = True
    """Whether the call succeeded; a test run with failing tests did not."""


def bullet(text: str) -> str:
    """Format a Markdown list item. Further lines are indented, and an existing marker is not repeated."""
    first, *others = MARK.sub('', text.strip()).splitlines() or ['']
    inside = (line if line.startswith('  ') else f'  {line}'.rstrip() for line in others)
    return '\n'.join([f'- {first}', *inside])


def number_name(name: str, number: int) -> str:
    """Return the key of an entry whose name occurs several times."""
    return f'{name} ({number})' if number > 1 else name


class ArtifactStore:
    """The artifacts of one agent while a batch of its tools runs."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values: dict[str, Any] = dict(values or {})
        self.changed: dict[str, str] = {}
        """The artifacts changed in this batch, with the tool that changed each."""
        self._added: set[tuple[str, str]] = set()

    def apply(self, tool: str, output: ToolOutput) -> None:
        """Apply a tool's output to the artifacts."""
        for name in output.drops:
            if name in self.values:
                del self.values[name]
                self.changed[name] = tool
        for name, value in output.artifacts.items():
            self.values[name] = to_jsonable_python(value)
            self.changed[name] = tool
        for name, entries in output.adds.items():
            stored = self.values.get(name)
            merged = dict(stored) if isinstance(stored, Mapping) else {}
            for entry, value in to_jsonable_python(entries).items():
                key, number = entry, 1
                while (name, key) in self._added:
                    number += 1
                    key = number_name(entry, number)
                self._added.add((name, key))
                merged[key] = value
            self.values[name] = merged
            self.changed[name] = tool

    async def record(self, workspace: Workspace) -> dict[str, Any]:
        """Return the changes to journal, with None for dropped artifacts.

        Artifacts that are too long are stored in the workspace.
        """
        recorded: dict[str, Any] = {}
        for name, tool in list(self.changed.items())[:MAX_NAMES]:
            recorded[name] = None
            if name in self.values:
                recorded[name] = (await make_artifact(self.values[name], tool, workspace)).model_dump()
        return recorded


async def make_artifact(value: Any, by: str, workspace: Workspace) -> Artifact:
    """Make an artifact from a string or another JSON value."""
    text = as_text(value)
    if len(text) <= MAX_JOURNALED:
        return Artifact(value=value, by=by, size=len(text))
    digest = await workspace.store(json.dumps(value, ensure_ascii=False).encode(errors='replace'))
    return Artifact(value=text[:MAX_JOURNALED], by=by, size=len(text), kept=digest)


async def load_artifacts(
    artifacts: Mapping[str, Artifact], names: Iterable[str], workspace: Workspace
) -> ArtifactStore:
    """Load a store with these artifacts, those in `names` in full."""
    artifact_store = ArtifactStore({name: artifact.value for name, artifact in artifacts.items()})
    for name in names:
        if name in artifacts and artifacts[name].kept:
            artifact_store.values[name] = json.loads(await workspace.load(artifacts[name].kept))
    return artifact_store


def as_text(value: Any) -> str:
    """Return text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
