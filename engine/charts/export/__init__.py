"""Export: a pattern written in Python as a chart file, as far as that can say it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.charts.export.code import CodeWriter
from engine.charts.export.fields import FieldWriter
from engine.charts.export.refusals import refusals
from engine.charts.export.states import StateWriter
from engine.charts.export.writing import Place, write_chart
from engine.statechart.pattern import Pattern

TEXTS = ('title', 'summary', 'family', 'answer', 'caveat')
IN_PYTHON = (
    'remember', 'start_problems', 'unavailable', 'field_notes', 'facts', 'state_report', 'deliverables',
    'tool_names', 'task',
)  # fmt: skip
"""What patterns override in Python, and charts do not."""


class Export(NamedTuple):
    """A chart file's text, and what of the pattern it cannot say."""

    text: str
    missing: tuple[str, ...]
    """Each with its place: `states.preparing: prepare, which works in Python ...`."""


def export_chart(
    pattern: type[Pattern], parameters: Mapping[str, Any] | None = None, *, name: str = ''
) -> Export:
    """Return a pattern as a chart file; comments say what cannot be said, and where.

    Args:
        pattern: the pattern.
        parameters: what its states depend on, if they depend on parameters; by default, their defaults.
        name: the chart's name; by default the pattern's.

    Raises:
        InvalidInput: a parameter is invalid; names each field.
    """
    refused: dict[Place, str] = {}
    while True:
        text, notes = _write(pattern, pattern.sample(parameters), name, refused)
        problems = refusals(text)
        if problems.keys() <= refused.keys():
            break
        refused |= problems
    for place, problem in problems.items():
        notes.setdefault(place, []).append(f'the file is refused: {problem}')
    missing = (
        f'{".".join(map(str, place)) or "chart"}: {text}' for place, texts in notes.items() for text in texts
    )
    return Export(text, tuple(missing))


def _write(
    pattern: type[Pattern], sample: Pattern, name: str, refused: Mapping[Place, str]
) -> tuple[str, dict[Place, list[str]]]:
    """Return the text of a chart file without what was refused, and what it cannot say."""
    notes: dict[Place, list[str]] = {}

    def note(place: Place, text: str) -> None:
        listed = notes.setdefault(place, [])
        if (line := ' '.join(text.split())) not in listed:
            listed.append(line)

    code, fields = CodeWriter(sample, note, refused), FieldWriter(note)
    states = StateWriter(code, fields, note)
    chart: dict[str, Any] = {'chart': name or pattern.name}
    chart |= {key: getattr(pattern, key) for key in TEXTS[:3]}
    chart['suits'] = list(pattern.suits)
    chart['parameters'] = fields.fields(pattern.Parameters, ('parameters',))
    chart['records'] = fields.records
    chart['inputs'] = {
        trigger: fields.fields(record, ('inputs', trigger)) for trigger, record in pattern.inputs.items()
    }
    chart['memory'] = fields.fields(pattern.Memory, ('memory',), defaults=True)
    chart |= {key: getattr(pattern, key) for key in TEXTS[3:]}
    chart['panels'] = _plain(sample.chart_panels())
    chart |= {key: _plain(getattr(pattern, key)) for key in ('marks', 'words', 'wait_texts')}
    chart['projects'] = list(pattern.projects)
    chart |= {'roles': states.roles, 'guards': code.guards, 'actions': code.actions}
    chart['initial'] = pattern.initial
    chart['states'] = states.states(sample.chart_states(), ('states',))
    chart['transitions'] = states.edges(sample.chart_transitions(), ('transitions',))
    if pattern.on_retry is not Pattern.on_retry:
        chart['on_retry'] = code.steps('on_retry', ('on_retry',))
    _note_python(pattern, note)
    return write_chart(chart, notes), notes


def _note_python(pattern: type[Pattern], note: Any) -> None:
    """Note what the class does in Python beside its chart."""
    for key in ('states', 'transitions'):
        if callable(getattr(pattern, key)):
            note((key,), 'they depend on the parameters, whose values are fixed here')
    for key in IN_PYTHON:
        if inspect.getattr_static(pattern, key) is not inspect.getattr_static(Pattern, key):
            note((), f'{key}, which works in Python')


def _plain(value: Any) -> Any:
    """Return mappings and tuples as plain data."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


__all__ = ['export_chart']
