"""ReplayPolicy: decides which of a fork's work is replayed, simulated or run live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.history.forks.overrides import Beyond, ForkOverrides, StepSource
from engine.records.state_path import parent_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPolicy:
    """How a fork replays its parent; stored in the fork's options."""

    begin: int
    """The parent's step after which the replay log begins."""
    at: int
    """The last step to which `before` applies."""
    until: int
    """The parent's last step when the fork was made."""
    before: StepSource
    after: StepSource
    beyond: Beyond
    plays: Mapping[str, StepSource] = field(default_factory=dict)

    @property
    def strict(self) -> bool:
        """Whether everything is to be replayed."""
        return {self.after, self.before, *self.plays.values()} == {'recorded'}

    def find_source(self, path: str, role: str, step: int) -> StepSource:
        """Return the source for work in state `path` that the parent's step `step` ended (0 if none did)."""
        return self.before if 0 < step <= self.at and not self.begin else find_source(self, path, role, step)


def find_source(policy: ForkOverrides | ReplayPolicy, path: str, role: str, step: int) -> StepSource:
    """Return the source by the most specific setting: the step, the innermost state, the role or `after`."""
    if f'@{step}' in policy.plays:
        return policy.plays[f'@{step}']
    where = path
    while where:
        if where in policy.plays:
            return policy.plays[where]
        where = parent_of(where)
    return policy.plays.get(role, policy.after)


def make_policy(variation: ForkOverrides, *, begin: int, at: int, until: int) -> ReplayPolicy | None:
    """Return the policy a fork needs; None if nothing is replayed and everything has the same source."""
    made = ReplayPolicy(
        begin=begin,
        at=at,
        until=until,
        before=variation.before,
        after=variation.after,
        beyond=variation.beyond,
        plays=dict(variation.plays),
    )
    sources = {variation.after, *variation.plays.values(), *(() if begin else (variation.before,))}
    return made if 'recorded' in sources or len(sources) > 1 else None
