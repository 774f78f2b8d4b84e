"""Plays: which work of a fork is played, which is really done, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from engine.forks.variation import Beyond, Play, Variation
from engine.path import parent_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Plays:
    """What a variation says of it; kept with the fork, among its options."""

    begin: int
    """The step of the parent's after which the script begins."""
    at: int
    """The step up to which `before` counts."""
    until: int
    """The parent's last step when the fork was made."""
    before: Play
    after: Play
    beyond: Beyond
    plays: Mapping[str, Play] = field(default_factory=dict)

    @property
    def anew(self) -> bool:
        """Whether the run begins at its first step."""
        return not self.begin

    @property
    def strict(self) -> bool:
        """Whether all is played that can be."""
        return {self.after, self.before, *self.plays.values()} == {'recorded'}

    def of(self, path: str, role: str, step: int) -> Play:
        """How work of a state is done that the parent's step `step` ended (0: none did)."""
        return self.before if 0 < step <= self.at and self.anew else play_of(self, path, role, step)

    @classmethod
    def load(cls, kept: Mapping[str, Any]) -> Self:
        """Read what is among a run's options."""
        return cls(**kept)


def play_of(said: Variation | Plays, path: str, role: str, step: int) -> Play:
    """The same by what is said of places: of the step, of the innermost state, of the role, or of all."""
    if f'@{step}' in said.plays:
        return said.plays[f'@{step}']
    where = path
    while where:
        if where in said.plays:
            return said.plays[where]
        where = parent_of(where)
    return said.plays.get(role, said.after)


def plays_of(variation: Variation, *, begin: int, at: int, until: int) -> Plays | None:
    """What a fork has to be told of its parent; None where nothing is played, and all is done one way."""
    made = Plays(
        begin=begin,
        at=at,
        until=until,
        before=variation.before,
        after=variation.after,
        beyond=variation.beyond,
        plays=dict(variation.plays),
    )
    ways = {variation.after, *variation.plays.values(), *(() if begin else (variation.before,))}
    return made if 'recorded' in ways or len(ways) > 1 else None
