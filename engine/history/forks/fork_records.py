"""Records of forks: overrides, replay policy, cost estimates, and lineage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from engine.records import MAX_TITLE, Change, RunId, RunInfo, Status, Usage, clip
from engine.records.document import split_pointer
from engine.records.shape import ancestry

StepSource = Literal['recorded', 'live', 'simulated']
"""The source of results: the parent's record, real calls, or a simulated model."""
Beyond = Literal['live', 'simulated', 'stop']
"""The fallback for replayed work without a recorded result; `stop` pauses the run."""
Kind = Literal['root', 'fork', 'rerun', 'retry']
"""How a run originated."""
WINNER = 'winner'
"""The tag of the variant chosen as the best."""

MAX_NAMED = 2
"""The most changes that the title of a fork names."""


class ForkOrigin(TypedDict, total=False):
    """Options by which a run tells where it comes from, unless it is a plain fork."""

    kind: Kind
    group: str
    """The tag that variants share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOverrides:
    """The changes a fork makes. By default there are none, and models are called."""

    changes: Sequence[Change] = ()
    """Edits to memory and agents, as accepted by `edit`: paths begin with `/memory` or `/agents`."""
    instructions: Mapping[str, str] = field(default_factory=dict)
    """New instructions by role; they also apply to agents that begin later."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts that replace an agent's latest task, by agent path."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Models that change, by role as in `start`, '' for all others."""
    tools: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """New tools by role."""
    effort: Mapping[str, str] = field(default_factory=dict)
    """Efforts that change, by role as in `start`, '' for all others. A value of '' leaves it to the model."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that change. When forking partway through a run, they must not change its chart."""
    before: StepSource = 'recorded'
    """The source of the steps before the fork: copied if 'recorded', else repeated from the first step."""
    after: StepSource = 'live'
    """The source of the steps after it."""
    plays: Mapping[str, StepSource] = field(default_factory=dict)
    """Exceptions to `after`: by role, by state path (of an agent or one of its leaves; the innermost wins),
    or by the parent's step that ended the work (`@17`)."""
    beyond: Beyond = 'live'
    """The fallback where no result is recorded for replayed work."""

    @property
    def title(self) -> str:
        """What changes, in a few words, such as `coder1: other model`; '' if nothing does."""
        by_role = {'model': self.models, 'effort': self.effort, 'instructions': self.instructions}
        changes = [
            f'{role or "all"}: other {what}'
            for what, chosen in {**by_role, 'tools': self.tools, 'task': self.prompts}.items()
            for role in chosen
        ]
        edited = [split_pointer(change.path) for change in self.changes]
        changes += [f'other {name}' for name in self.parameters]
        changes += [
            f'other {place[1]}' if place[0] == 'memory' else f'{place[1]}: edited'
            for place in edited
            if len(place) > 1
        ]
        distinct = list(dict.fromkeys(change.replace('_', ' ') for change in changes))
        more = [f'{len(distinct) - MAX_NAMED} more'] if len(distinct) > MAX_NAMED else []
        return clip(', '.join([*distinct[:MAX_NAMED], *more]), MAX_TITLE)

    @property
    def played(self) -> bool:
        """Whether anything is replayed from the parent's journal."""
        return 'recorded' in (self.after, *self.plays.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """A fork's expected usage, estimated from earlier runs. None means unknown."""

    calls: int | None = None
    """Number of calls to models that are not simulated."""
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None
    roles: Mapping[str, Usage] = field(default_factory=dict)
    """By role: the usage in the parent of the calls that would be repeated."""
    basis: Literal['parent', 'runs', 'none'] = 'none'
    """The basis: the parent's usage after the step, the usage of other complete runs of the pattern, or
    nothing."""
    free: bool = False
    """Whether the fork cannot cost money, because everything is recorded or simulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageNode:
    """A run in its fork tree."""

    info: RunInfo
    kind: Kind
    group: str = ''
    """The tag shared by the variants it was forked with, or ''."""
    children: tuple[LineageNode, ...] = ()
    """Oldest first."""

    @property
    def run(self) -> RunId:
        """The run's id."""
        return self.info.id

    @property
    def status(self) -> Status:
        """The run's status."""
        return self.info.status

    @property
    def at(self) -> int:
        """The step of its parent at which it begins; 0 if it started over."""
        return self.info.parent_at

    @property
    def winner(self) -> bool:
        """Whether it was chosen as the best of its group."""
        return WINNER in self.info.tags

    def members(self) -> Iterator[tuple[int, LineageNode]]:
        """Yield the run and its descendants with their depths, parents before forks, oldest first.

        Iterative, because a chain of forks may be long.
        """
        todo = [(0, self)]
        while todo:
            depth, kin = todo.pop()
            yield depth, kin
            todo.extend((depth + 1, child) for child in reversed(kin.children))


def lineage_tree(family: Sequence[RunInfo]) -> LineageNode:
    """Build the fork tree, from the oldest run that still exists.

    Args:
        family: all its runs, oldest first, as returned by `Journal.family`.
    """
    ids = {info.id for info in family}
    children: dict[RunId | None, list[RunInfo]] = {}
    for info in family:
        parent = info.parent if info.parent in ids else None
        children.setdefault(parent, []).append(info)
    # Built from the leaves up, to avoid deep recursion for a long chain of forks.
    nodes: dict[RunId, LineageNode] = {}
    order, todo = [], children[None][:1]
    while todo:
        info = todo.pop()
        order.append(info)
        todo.extend(children.get(info.id, ()))
    for info in reversed(order):
        below = tuple(nodes[child.id] for child in children.get(info.id, ()))
        group = str(info.options.get('group', ''))
        nodes[info.id] = LineageNode(info=info, kind=origin_of(info), group=group, children=below)
    return nodes[order[0].id]


def origin_of(info: RunInfo) -> Kind:
    """Return how a run originated."""
    if info.parent is None:
        return 'root'
    kind = info.options.get('kind')
    return kind if kind in ('rerun', 'retry') else 'fork'


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
        """Whether all work is replayed from the recording and none is performed."""
        return {self.after, self.before, *self.plays.values()} == {'recorded'}

    def find_source(self, path: str, role: str, step: int) -> StepSource:
        """Return the source for work in state `path` that the parent's step `step` ended (0 if none did)."""
        return self.before if 0 < step <= self.at and not self.begin else find_source(self, path, role, step)


def find_source(policy: ForkOverrides | ReplayPolicy, path: str, role: str, step: int) -> StepSource:
    """Return the source by the most specific setting: the step, the innermost state, the role or `after`."""
    if f'@{step}' in policy.plays:
        return policy.plays[f'@{step}']
    plays = (policy.plays[around] for around in ancestry(path) if around in policy.plays)
    return next(plays, policy.plays.get(role, policy.after))


def make_policy(variation: ForkOverrides, *, begin: int, at: int, until: int) -> ReplayPolicy | None:
    """Return the policy a fork needs; None if nothing is replayed and everything has the same source."""
    policy = ReplayPolicy(
        begin=begin,
        at=at,
        until=until,
        before=variation.before,
        after=variation.after,
        beyond=variation.beyond,
        plays=dict(variation.plays),
    )
    sources = {variation.after, *variation.plays.values(), *(() if begin else (variation.before,))}
    return policy if 'recorded' in sources or len(sources) > 1 else None
