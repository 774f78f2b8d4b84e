"""Checks the text of a chart as it is typed: its chart, its problems, and where everything stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypedDict

from engine import InvalidInput, Pattern, PatternError
from engine.charts import ChartSource, load_chart
from engine.operations.rehearsal import Finding
from engine.records import EdgeShape, Shape, parent_of
from engine.statechart import build_shape
from ui.formatting.steps import edge_name
from ui.formatting.values import as_sentence
from ui.web.pages.charts.outline import names_in, read_keys


class TextProblem(TypedDict):
    """A problem at a line; 0 is the whole text."""

    line: int
    text: str
    level: str
    """`error` or `warning`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A text, and the chart it stands for, if it has no errors."""

    text: str
    pattern: type[Pattern] | None = None
    shape: Shape | None = None
    places: Places = field(default_factory=lambda: Places('', None))
    problems: tuple[TextProblem, ...] = ()


class Places:
    """Where the states and the edges of a chart stand in its text."""

    def __init__(self, text: str, source: ChartSource | None) -> None:
        """Without a `source`, nothing is known."""
        self._source = source
        keys = read_keys(text)
        self.states = list(source.states) if source else []
        """The paths of the states that the text has."""
        self.roles = names_in(keys, 'roles')
        self.inputs = names_in(keys, 'inputs')
        self.guards = names_in(keys, 'guards')
        starts: dict[int, tuple[str, ...]] = {}
        for key in keys:
            if len(key.path) == 1:
                starts[key.line] = ()
        if source:
            starts |= {line: (path,) for path, line in reversed([*source.states.items()])}
            for edge in source.edges:
                starts[edge.line] = tuple(f'{name}>{edge.dest or name}' for name in edge.sources)
        self._starts = sorted(starts.items())

    def line_of_state(self, path: str) -> int:
        """Return the line of a state, or of the innermost one around it that the text has; 0 without."""
        lines = self._source.states if self._source else {}
        while path:
            if line := next((line for written, line in lines.items() if fnmatchcase(path, written)), 0):
                return line
            path = parent_of(path)
        return 0

    def line_of_edge(self, edge: EdgeShape) -> int:
        """Return the line of an edge; 0 if the text has none like it."""
        return (self._source and self._source.edge_line(edge.trigger, edge.source, edge.dest)) or 0

    def line_of_finding(self, finding: Finding) -> int:
        """Return the line of what a finding is about; 0 if that is the whole chart."""
        trigger, _, ends = finding.edge.partition(': ')
        source, _, dest = ends.partition(' → ')
        line = self._source.edge_line(trigger, source, dest) if finding.edge and self._source else None
        return line or self.line_of_state(finding.state or source)

    def at(self, line: int) -> tuple[list[str], list[str]]:
        """Return the states and the names of the edges that a line is part of."""
        names = next((names for start, names in reversed(self._starts) if start <= line), ())
        return [name for name in names if '>' not in name], [name for name in names if '>' in name]


def check_chart(text: str, name: str, parameters: Mapping[str, object] | None = None) -> Checked:
    """Return what a text stands for, or its problems. It takes milliseconds for each state."""
    try:
        pattern = load_chart(text, name=f'{name}.chart.yaml')
        shape = build_shape(pattern.sample(parameters))
    except PatternError as error:
        return Checked(
            text=text, problems=(TextProblem(line=0, text=as_sentence(str(error)), level='error'),)
        )
    except InvalidInput as error:
        return Checked(text=text, problems=tuple(problems_of(error.problems)))
    return Checked(text=text, pattern=pattern, shape=shape, places=Places(text, pattern.source))


def problems_of(problems: Mapping[str, str]) -> Iterable[TextProblem]:
    """Yield the problems of a text, whose keys end in a colon and the line."""
    for place, problem in problems.items():
        _, _, line = place.rpartition(':')
        number = int(line) if line.isdecimal() else 0
        yield TextProblem(line=number, text=as_sentence(problem), level='error')


def edges_named(shape: Shape, name: str) -> list[EdgeShape]:
    """Return the edges that a line of the diagram stands for."""
    return [edge for edge in shape.edges if edge_name(edge) == name and edge.source != '[*]']
