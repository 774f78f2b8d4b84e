"""What a supervisor said of the work: gates with their conditions, and the messages of each level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import TITLES, Level, Shape, View
from ui.replay.grown import At


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One time that work stood before a gate."""

    title: str
    score: int
    threshold: int | None
    passed: bool
    conditions: tuple[tuple[str, bool], ...]
    level: str
    summary: str
    issues: tuple[str, ...]
    evidence: str
    degraded: bool
    seq: int
    """The step of the run; 0 as long as that is not known."""

    @property
    def held_back(self) -> list[str]:
        """The conditions that kept it back."""
        return [words(name) for name, holds in self.conditions if not holds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One message of the supervisor to an agent."""

    level: str
    agent: str
    message: str
    score: str
    issues: str
    about: str
    seq: int


def words(name: str) -> str:
    """The name of a condition for people."""
    return name.replace('_', ' ')


def gates_of(shape: Shape, view: View, steps: Sequence[At]) -> list[Gate]:
    """Every time that work stood before a gate, up to the view's step."""
    found = []
    for number, item in enumerate(_records(view, shape.oversight.verdicts if shape.oversight else '')):
        conditions = tuple(
            (str(pair[0]), bool(pair[1]))
            for pair in item.get('conditions', ())
            if isinstance(pair, (list, tuple)) and len(pair) == 2
        )
        name, threshold = str(item.get('gate', '')), item.get('threshold')
        found.append(
            Gate(
                title=TITLES.get(name, words(name).capitalize()),
                score=int(item.get('score', 0)),
                threshold=threshold if isinstance(threshold, int) else None,
                passed=all(holds for _, holds in conditions),
                conditions=conditions,
                level=str(item.get('level', '')),
                summary=str(item.get('summary', '')),
                issues=tuple(map(str, item.get('issues', ()))),
                evidence=str(item.get('evidence', '')),
                degraded=bool(item.get('degraded')),
                seq=steps[number].seq if number < len(steps) else 0,
            )
        )
    return found


def sent_of(shape: Shape, view: View, steps: Sequence[At]) -> list[Sent]:
    """Every intervention, up to the view's step."""
    return [
        Sent(
            level=str(item.get('level', '')),
            agent=str(item.get('agent', '')),
            message=str(item.get('message', '')),
            score=str(item.get('score', '')),
            issues=str(item.get('issues', '')),
            about=str(item.get('step', '')),
            seq=steps[number].seq if number < len(steps) else 0,
        )
        for number, item in enumerate(
            _records(view, shape.oversight.interventions if shape.oversight else '')
        )
    ]


def level_now(shape: Shape, view: View) -> str:
    """Where the run stands on the ladder."""
    found = str(view.memory.get(shape.oversight.level, '')) if shape.oversight else ''
    return found if found in list(Level) else Level.NONE.value


def _records(view: View, field: str) -> list[Mapping[str, Any]]:
    found = view.memory.get(field) if field else None
    return [item if isinstance(item, Mapping) else {} for item in found] if isinstance(found, list) else []
