"""The agents of a trace and their calls: spans as a tree of visits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from engine.errors import BundleError
from engine.history.traces.kinds import Kind, agent_name, classify_span
from engine.history.traces.otlp import Span

MAX_DEPTH = 30
"""Maximum nesting depth of agents: viewing a chart requires laying it out."""


MAX_COMPARED = 1_000_000
"""Maximum number of comparisons made to place spans whose parent is missing."""


@dataclass(slots=True, eq=False)
class Node:
    """A relevant span and those inside it."""

    span: Span
    kind: Kind
    inside: list[Node] = field(default_factory=list)

    def holds(self, *kinds: Kind) -> bool:
        """Return whether a span of one of these kinds is directly inside."""
        return any(node.kind in kinds for node in self.inside)


@dataclass(slots=True, eq=False)
class Visit:
    """An agent at work, from its span's start to its end."""

    name: str
    span: Span | None
    """None for the implicit agent of calls outside any agent."""
    chats: list[Span] = field(default_factory=list)
    tools: list[Span] = field(default_factory=list)
    inside: list[Visit] = field(default_factory=list)
    """The agents it called."""
    start: float = 0.0
    end: float = 0.0
    """When it and everything inside had ended."""

    def set_times(self) -> None:
        """Compute its start and end, including all inner visits: a span may end before those it started."""
        for visit in self.inside:
            visit.set_times()
        parts = [*([self.span] if self.span else ()), *self.chats, *self.tools, *self.inside]
        self.start, self.end = min(part.start for part in parts), max(part.end for part in parts)
        self.inside.sort(key=lambda visit: (visit.start, visit.end))

    @property
    def error(self) -> str:
        """Why it failed, or ''."""
        return self.span.error if self.span else ''


@dataclass(slots=True, kw_only=True)
class Trace:
    """A trace: its outermost spans and its top-level agents."""

    id: str
    roots: list[Span]
    visits: list[Visit]

    @property
    def start(self) -> float:
        """When it began."""
        return min(span.start for span in self.roots)

    @property
    def end(self) -> float:
        """When everything in it had ended."""
        return max(*(span.end for span in self.roots), *(visit.end for visit in self.visits), self.start)


def traces_of(spans: Sequence[Span]) -> list[Trace]:
    """Return the traces with generative-AI spans, in the order of their first spans."""
    by_trace: dict[str, dict[str, Span]] = {}
    for span in spans:
        by_trace.setdefault(span.trace, {})[span.id] = span
    traces = []
    for id, several in by_trace.items():
        with name_trace_in_errors(id):
            traces.append(_trace(id, list(several.values())))
    return [trace for trace in traces if trace.visits]


@contextmanager
def name_trace_in_errors(trace: str) -> Iterator[None]:
    """Name the trace in errors raised inside."""
    try:
        yield
    except BundleError as error:
        raise BundleError(0, f'trace {trace[:40]}: {error.problem}') from None


def _trace(id: str, spans: list[Span]) -> Trace:
    tops = _nodes(spans)
    visits = _visits(tops)
    roots = [node.span for node in tops]
    for visit in visits:
        visit.set_times()
    while len(visits) == 1 and (only := visits[0]).inside and not only.chats and not only.tools:
        visits = only.inside  # An agent that only calls others is the workflow itself.
    visits.sort(key=lambda visit: (visit.start, visit.end))
    return Trace(id=id, roots=roots, visits=visits)


def _nodes(spans: Sequence[Span]) -> list[Node]:
    """Arrange the relevant spans as a tree, skipping those in between."""
    nodes = {span.id: Node(span, kind) for span in spans if (kind := classify_span(span))}
    ancestors = _Ancestors({span.id: span.parent for span in spans}, nodes)
    ordered = sorted(nodes.values(), key=lambda node: (node.span.start, -node.span.end))
    tops, lost = list[Node](), set[str]()
    for node in ordered:
        around = ancestors.find(node.span.id)
        (nodes[around].inside if around in nodes else tops).append(node)
        if around and around not in nodes:
            lost.add(node.span.id)
    reached = set[str]()
    for node in tops:
        _mark_reached(node, reached)
    for node in ordered:
        if node.span.id not in reached:  # In a damaged trace, spans may be inside each other.
            tops.append(node)
            _mark_reached(node, reached)
    return _place_orphans(tops, lost)


def _place_orphans(tops: list[Node], lost: set[str]) -> list[Node]:
    """Move spans whose parent is missing into the innermost span that covers their time."""
    roots = [node for node in tops if node.span.id not in lost and node.kind in (Kind.AGENT, Kind.GROUP)]
    compared, orphans = 0, list[Node]()
    for node in tops:
        home, around = None, roots if node.span.id in lost else []
        while around and compared < MAX_COMPARED:
            compared += len(around)
            inner = next((n for n in around if n.kind is not Kind.CHAT and _covers(n, node)), None)
            home, around = inner or home, inner.inside if inner else []
        (home.inside if home else orphans).append(node)
    return orphans


def _covers(outer: Node, inner: Node) -> bool:
    return outer is not inner and outer.span.start <= inner.span.start and inner.span.end <= outer.span.end


def _mark_reached(top: Node, reached: set[str]) -> None:
    waiting = [top]
    reached.add(top.span.id)
    while waiting:
        node = waiting.pop()
        node.inside = [inner for inner in node.inside if inner.span.id not in reached]
        reached.update(inner.span.id for inner in node.inside)
        waiting += node.inside


class _Ancestors:
    """Finds the nearest relevant ancestor of a span, visiting each span once."""

    def __init__(self, parents: Mapping[str, str], nodes: Mapping[str, Node]) -> None:
        self._parents, self._nodes = parents, nodes
        self._known: dict[str, str] = {}

    def find(self, span: str) -> str:
        """Return the id of that ancestor, or of a missing one on the way there, or ''."""
        passed, ancestor = list[str](), self._parents[span]
        while ancestor in self._parents and ancestor not in self._nodes and ancestor not in self._known:
            self._known[ancestor] = ''  # remains if the chain turns out to be a cycle
            passed.append(ancestor)
            ancestor = self._parents[ancestor]
        ancestor = ancestor if ancestor in self._nodes else self._known.get(ancestor, ancestor)
        self._known.update(dict.fromkeys(passed, ancestor))
        return ancestor


def _visits(tops: Sequence[Node]) -> list[Visit]:
    around = Visit(next((node.span.service for node in tops if node.span.service), '') or 'agent', None)
    _collect(tops, around, None)
    if around.chats or around.tools:  # Calls outside any agent become those of an agent without a span.
        inner, around.inside = around.inside, []
        return [around, *inner]
    return around.inside


def _collect(nodes: Sequence[Node], visit: Visit, agent: Node | None, depth: int = 0) -> None:
    """Add these spans to a visit; `agent` is the node of the agent they are inside, if any."""
    if depth > MAX_DEPTH:
        raise BundleError(0, f'its agents are nested more than {MAX_DEPTH} deep')
    waiting = [(node, agent) for node in reversed(nodes)]
    while waiting:
        node, owner = waiting.pop()
        if _is_agent(node, owner):
            inner = Visit(agent_name(node.span), node.span)
            visit.inside.append(inner)
            _collect(node.inside, inner, node, depth + 1)
            continue
        if node.kind is Kind.CHAT:
            visit.chats.append(node.span)
            # A model call inside another is the same call, recorded by another instrumentation.
            below = [inner for inner in node.inside if inner.kind is not Kind.CHAT]
        elif node.kind is Kind.TOOL:
            visit.tools.append(node.span)
            below = node.inside
            if node.holds(Kind.CHAT):  # The tool itself calls models.
                inside = Visit(agent_name(node.span), node.span)
                visit.inside.append(inside)
                _collect(below, inside, node, depth + 1)
                continue
        else:
            below = node.inside
            owner = None if node.kind is Kind.AGENT and _is_graph(node) else owner
        waiting += [(inner, owner) for inner in reversed(below)]


def _is_agent(node: Node, owner: Node | None) -> bool:
    if node.kind is Kind.AGENT:
        if owner and agent_name(owner.span) == agent_name(node.span) and node in owner.inside:
            return False  # The same agent, recorded by another instrumentation.
        return not _is_graph(node)
    return node.kind is Kind.GROUP and owner is None and node.holds(Kind.CHAT, Kind.TOOL)


def _is_graph(node: Node) -> bool:
    """Return whether an agent is a graph of parts that call models, so that those parts are the agents."""
    names, waiting = set[str](), list(node.inside)
    if node.holds(Kind.CHAT):
        return False
    while waiting:
        inner = waiting.pop()
        if inner.kind in (Kind.GROUP, Kind.AGENT):
            if inner.kind is Kind.GROUP and inner.holds(Kind.CHAT):
                names.add(agent_name(inner.span))
            waiting += inner.inside
    return len(names) > 1
