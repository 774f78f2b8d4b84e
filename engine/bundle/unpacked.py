"""A run that was read from a bundle and checked, and is not kept yet: its history is in a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import orjson

from engine.bundle.lines import Noted, StepLine, line_of
from engine.journal import WholeRun
from engine.records import Note, RunId, RunInfo, Shape, Snapshot, Transition

SNAPSHOT = b'!'
"""How a line of that file begins that is a snapshot, and no step."""


@dataclass(slots=True)
class Unpacked:
    """What was read of one run."""

    info: RunInfo
    shape: Shape
    file: Path
    notes: tuple[Noted, ...] = ()
    closing: Transition | None = None
    """The last step of one that came unfinished."""
    trees: dict[str, int] = field(default_factory=dict)
    """The snapshots that its steps name, and the first line that does."""

    def history(self, run: RunId) -> Iterator[Transition | Snapshot]:
        """Its steps, and snapshots among them, as those of this run. Blocks."""
        with self.file.open('rb') as lines:
            for line in lines:
                if line.startswith(SNAPSHOT):
                    seq, state = orjson.loads(line[len(SNAPSHOT) :])
                    yield Snapshot(run=run, seq=seq, state=state)
                else:
                    yield cast(StepLine, line_of(0, line)).transition(run)
        if self.closing:
            yield replace(self.closing, run=run)

    def as_run(self, run: RunId, parent: RunId | None) -> WholeRun:
        """All of it, under an id that is free here."""
        info = replace(self.info, id=run, parent=parent)
        notes = [Note(run=run, **note.model_dump()) for note in self.notes]
        return WholeRun(info=info, shape=self.shape, history=self.history(run), notes=notes)
