"""What of a chart depends on its parameters: names, roles, limits of time; each problem has its line."""

from __future__ import annotations

from typing import Any

import pytest

from engine import InvalidInput, LocalConductor
from engine.charts import load_chart
from engine.charts.export import export_chart
from engine.errors import PatternError
from engine.operations.rehearsal import rehearse
from engine.statechart.shape_builder import build_shape
from tests.support.harness import FakeModel, catalog, complete_run

TEXT = """\
chart: sized
parameters: {size: {type: integer, default: 2}, style: {type: string, default: plain}}
memory: {said: string, tries: integer}
roles:
  writer: {title: 'A {{ parameters.style }} writer', instructions: 'Write {{ parameters.style }} texts.'}
  helper: {for: 'number in range(1, parameters.size)', name: 'helper{{ number }}'}
initial: work
states:
  work: {agent: '{{ "writer" }}', prompt: Write., within: 60, most_visits: 2, then: {set: {said: text}}}
  done: {final: true}
  failed: {final: true, outcome: failed}
transitions:
  - {on: done, from: work, to: done}
  - {on: failed, from: work, to: failed}
"""


def test_roles_are_as_the_parameters_say() -> None:
    pattern = load_chart(TEXT)
    writer, helper = pattern(pattern.parse({'style': 'short'})).all_roles()
    assert (writer.title, writer.instructions) == ('A short writer', 'Write short texts.')
    assert (helper.name, helper.title) == ('helper1', 'Helper1')
    [agent] = [state for state in build_shape(pattern.sample({'style': 'short'})).states if state.role]
    assert agent.role == 'writer'
    chosen = load_chart(TEXT.replace('{{ "writer" }}', '{{ parameters.style }}').replace('plain', 'writer'))
    assert [state.role for state in build_shape(chosen.sample()).states if state.role] == ['writer']


@pytest.mark.parametrize(
    ('old', 'new', 'line', 'says'),
    [
        ('most_visits: 2', 'most_visits: parameters.style', 9, 'must be a number, not a text'),
        ('most_visits: 2', 'most_visits: 1 / (parameters.size - 2)', 9, 'division by zero'),
        ('within: 60', 'within: parameters.style', 9, 'must be a number, not a text'),
        ('within: 60', 'within: "\'on_retry\'"', 9, 'must be a number, not a text'),
        ('on: failed, from', 'on: failed, when: 1 / 0, from', 14, 'division by zero'),
        ('{{ "writer" }}', '{{ parameters.style }}', 9, "there is no role 'plain'; available: writer"),
        ('range(1, parameters.size)', 'parameters.size', 6, 'it needs a list, not a number'),
        ('range(1, parameters.size)', 'range(1, 400)', 6, 'more than 200 roles'),
        ('helper{{ number }}', '<b>{{ number }}', 6, 'a name here has lower-case letters'),
        ('agent: ', 'name: "{{ parameters.style }}!", agent: ', 9, 'a name here has letters'),
        ('agent: ', 'name: "{{ join(range(90), \'\') }}", agent: ', 9, 'a name here has letters'),
    ],
)
def test_problems_with_default_parameters_have_a_line(old: str, new: str, line: int, says: str) -> None:
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    with pytest.raises(InvalidInput) as refused:
        load_chart(text)
    assert says in refused.value.problems.get(f'chart:{line}', ''), refused.value.problems


async def test_parameters_that_no_chart_can_be_built_for_are_refused_at_the_launch() -> None:
    text = TEXT.replace('most_visits: 2', 'most_visits: 4 / parameters.size')
    async with LocalConductor(catalog=catalog(FakeModel('a text'), load_chart(text))) as conductor:
        with pytest.raises(PatternError, match=r'states\.work\.most_visits: .*division by zero'):
            await conductor.start('sized', {'size': 0})
        assert await conductor.result(await complete_run(conductor, 'sized', {}))


@pytest.mark.parametrize(('said', 'ends'), [('a  b', 'done'), ('a b', 'failed')])
async def test_texts_in_guards_keep_their_spaces(said: str, ends: str) -> None:
    text = TEXT.replace('said: text', f'said: {{text: {said}}}').replace(
        'from: work, to: done', """from: work, to: done, if: "memory.said   == 'a  b'\""""
    )
    text += """  - {on: done, from: work, to: failed, if: "memory.said == 'a b'"}\n"""
    async with LocalConductor(catalog=catalog(FakeModel('a text'), load_chart(text))) as conductor:
        outcome = await conductor.result(await complete_run(conductor, 'sized', {}))
    assert outcome.status == ends


@pytest.mark.parametrize(
    ('field', 'value', 'problem'),
    [
        ('{type: integer, nullable: true, default: null, minimum: 1}', 0, 'greater than or equal to 1'),
        ('{type: array, default: [], items: {type: integer, maximum: 4}}', [5], 'less than or equal to 4'),
        (
            '{type: object, default: {}, additionalProperties: {type: string, maxLength: 1}}',
            {'a': 'bc'},
            'at most 1',
        ),
    ],
)
def test_limits_hold_inside_lists_and_for_what_may_be_null(field: str, value: Any, problem: str) -> None:
    pattern = load_chart(TEXT.replace('{type: string, default: plain}}', f'{{type: any}}, more: {field}}}'))
    with pytest.raises(InvalidInput, match=problem):
        pattern.parse({'style': 'plain', 'more': value})
    assert pattern.parse({'style': 'plain'})


def test_no_field_of_memory_takes_the_place_of_the_seats_that_people_have() -> None:
    text = TEXT.replace('memory: {', 'memory: {seats: integer, ')
    assert load_chart(text)
    seated = text.replace('then: {', 'seat: {name: writer, event: write}, then: {')
    with pytest.raises(InvalidInput, match="chart:3: 'seats' is reserved"):
        load_chart(seated)


NOTED = TEXT.replace(
    'parameters: {', 'records: {Note: {title: string}}\nparameters: {note: {type: Note}, '
).replace('memory: {', 'memory: {note: Note, ')


def test_a_chart_whose_memory_begins_with_a_required_parameter_is_rehearsed_and_exported() -> None:
    pattern = load_chart(NOTED)
    assert rehearse(pattern.sample(), seconds=0).cost.least_calls == 1
    assert load_chart(export_chart(pattern).text).file.memory['note'].type == 'Note'


def test_a_wrong_default_is_named_even_if_a_parameter_gives_the_first_value() -> None:
    text = NOTED.replace('note: Note, ', 'note: {type: Note, default: [a]}, ')
    with pytest.raises(InvalidInput, match='chart:4: is no value of this type'):
        load_chart(text)
