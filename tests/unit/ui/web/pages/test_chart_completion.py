"""What may come at the cursor in a chart's text."""

import time

import pytest

from engine.charts import chart_schema
from ui.web.pages.charts.editor.completion import Completion
from ui.web.pages.charts.outline import read_keys, states_in

TEXT = """\
chart: critique
memory:
  answer: string
  round: {type: integer, default: 0}
roles:
  writer:
    title: Writer
    tools: [notes]
  critic: {instructions: You judge.}
guards:
  is_spent: memory.round >= 3
actions:
  keep: [{set: {answer: text}}]
initial: writing
states:
  writing:
    agent: writer
    prompt: |
      roles:
        nobody: {{ memory.answer }}
  group:
    parallel:
      left: {final: true}
      right:
        waits: verdict
transitions:
- {on: done, from: writing, to: group}
- on: done
  from: group
"""
SCHEMA = {
    'type': 'object',
    '$defs': {
        'State': {'type': 'object', 'properties': {
            'agent': {'anyOf': [{'type': 'string'}, {'$ref': '#/$defs/Agent'}]},
            'final': {'type': 'boolean'},
            'outcome': {'enum': ['done', 'failed']},
            'within': {'description': 'Seconds'},
        }},
        'Agent': {'type': 'object', 'properties': {'role': {'type': 'string'}}},
        'Edge': {'type': 'object', 'properties': {'on': {}, 'from': {}, 'to': {}, 'if': {}}},
    },
    'properties': {
        'roles': {'type': 'object', 'additionalProperties': {'type': 'object', 'properties': {'tools': {}}}},
        'states': {'type': 'object', 'additionalProperties': {'$ref': '#/$defs/State'}},
        'transitions': {'type': 'array', 'items': {'$ref': '#/$defs/Edge'}},
    },
}  # fmt: skip
COMPLETION = Completion(SCHEMA, ['notes', 'calculator'])


def offered(line: str, after: str) -> list[str]:
    """Return what is offered in a line typed after the one that ends with `after`."""
    lines = TEXT.split('\n')
    at = next(number for number, other in enumerate(lines) if other.endswith(after)) + 1
    typed = '\n'.join([*lines[:at], line, *lines[at:]])
    return [option['label'] for option in COMPLETION.complete(typed, at + 1, line)[1]]


def test_states_are_known_in_a_text_that_is_being_typed():
    assert states_in(read_keys(TEXT + 'broken: [')) == ['writing', 'group', 'group.left', 'group.right']


@pytest.mark.parametrize(
    ('line', 'after', 'labels'),
    [
        ('st', 'memory.round >= 3', ['roles', 'states', 'transitions']),
        ('    wi', 'agent: writer', ['agent', 'final', 'outcome', 'within']),
        ('    agent: wr', '  group:', ['writer', 'critic']),
        ('    agent: {ro', '  group:', ['role']),
        ('    agent: {role: cr', '  group:', ['writer', 'critic']),
        ('    outcome: d', '  group:', ['done', 'failed']),
        ('    final: t', '  group:', ['true', 'false']),
        ('- {on: fa', 'to: group}', ['done', 'failed', 'expired', 'always']),
        ('- {on: done, from: wr', 'to: group}', ['writing', 'group', 'group.left', 'group.right']),
        ('- {on: done, ', 'to: group}', ['on', 'from', 'to', 'if']),
        ('  if: is', '  from: group', ['is_spent', 'memory.', 'parameters.']),
        ('  i', '  from: group', ['on', 'from', 'to', 'if']),
        ('    tools: [no', '    title: Writer', ['notes', 'calculator']),
        ('  is_late: memory.ro', 'memory.round >= 3', ['answer', 'round']),
        ('        {{ memory.', 'nobody: {{ memory.answer }}', ['answer', 'round']),
        ('        some', 'nobody: {{ memory.answer }}', []),
    ],
)
def test_what_fits_is_offered(line, after, labels):
    assert offered(line, after) == labels


def test_only_the_word_at_the_cursor_is_replaced():
    start, options = COMPLETION.complete(
        TEXT + '    wi', len(TEXT.split('\n')), '- {on: done, from: group.le'
    )
    assert start == len('- {on: done, from: ') and options[0]['label'] == 'writing'


def test_the_schema_of_the_format_is_understood():
    completion = Completion(chart_schema(), [])
    line = len(TEXT.split('\n'))

    def labels(typed: str) -> set[str]:
        return {option['label'] for option in completion.complete(TEXT + typed, line, typed)[1]}

    assert {'roles', 'states', 'transitions'} <= labels('st')
    assert {'on', 'from', 'to', 'if', 'unless'} <= labels('- {')
    assert labels('- {on: done, from: writing, history: ') == {'shallow', 'deep'}


@pytest.mark.parametrize('line', ['- ' * 100_000, 'a' * 200_000, ' ' * 200_000 + '"', '{' * 100_000])
def test_a_hostile_line_takes_no_time(line):
    begun = time.perf_counter()
    assert COMPLETION.complete(TEXT + line, len(TEXT.split('\n')), line)[1] == []
    assert read_keys(TEXT + line) and time.perf_counter() - begun < 1
