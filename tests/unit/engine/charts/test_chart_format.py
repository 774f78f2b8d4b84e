"""What a chart file can say, and how its author's mistakes are named."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from engine import Catalog, EventRefused, InvalidInput, LocalConductor, SimulatedClock
from engine.charts import chart_schema, load_chart
from engine.charts.compiling.scope import NAMES, READERS
from engine.charts.format import ChartFile
from engine.charts.reading import Problems, read_chart
from engine.records import Event
from engine.runtime.debugger.guard_explanations import GuardExplanations
from engine.statechart.shape_builder import build_shape
from tests.support.harness import FakeModel, catalog, complete_run, start_run, wait_for_state

FILES = sorted((Path(__file__).parents[3] / 'support' / 'charts').glob('*.chart.yaml'))
TRIP = """
chart: trip
parameters:
  days: {type: integer, default: 2, minimum: 1, maximum: 9}
  with_guide: {type: boolean, default: true}
inputs:
  answer_it: {choice: {type: string, enum: [go, stay]}, why: {type: string, default: ''}}
checks:
  parameters: [{must: this.days != 5, error: 'nobody travels {{ this.days }} days'}]
  answer_it: [{must: this.choice == 'go' or this.why, error: say why you stay}]
records:
  Place: {name: string, tags: {type: array, items: string, default: []}}
memory:
  days: integer
  places: {type: array, items: Place}
  seen: {type: object, additionalProperties: {type: array, items: integer}}
  log: {type: array, items: string}
  best: {type: Place, nullable: true}
define:
  names: '[place.name for place in memory.places]'
  many: len(names) > 2
guards:
  goes: data.choice == 'go'
actions:
  log: {append: {log: line}}
initial: home
states:
  home:
    exit:
      - {let: {line: 'leaves at {{ at }}'}, action: log}
      - for: number in range(memory.days)
        do:
          - append: {places: {name: 'place {{ number }}', tags: [string(number)]}}
          - set: {'seen[names[-1]]': '[number, number + 1]'}
      - append: {'seen["place 0"]': 7, 'places[0].tags': {text: first}}
      - set: {'places[-1].name': {text: last}, best: 'memory.places[0]'}
      - remove: seen["place 1"]
      - increment: {days: 0.0 + 3 - 1}
      - if: many
        do: {let: {line: {text: many}}, action: log}
        else: {let: {line: {text: few}}, action: log}
  away:
    initial: walking
    states:
      walking:
        parallel:
          feet:
            initial: left
            states: {left: , right: }
            transitions: [{on: stride, from: left, to: right}, {on: stride, from: right, to: left}]
          eyes: {initial: open, states: {open: , shut: }, transitions: [{on: blink, from: open, to: shut}]}
      resting: {waits: answer_it, within: memory.days * 10}
    transitions:
      - {on: rest, from: walking, to: resting}
      - {on: answer_it, from: resting, to: walking, history: deep, if: goes}
      - {on: expired, from: resting, to: walking}
  guide: {name: guided, when: parameters.with_guide, waits: help}
  over: {final: true}
transitions:
  - {on: leave, from: home, to: away}
  - {on: help, from: away, to: guided, when: parameters.with_guide}
  - {on: back, from: guided, to: away, history: deep, when: parameters.with_guide}
  - {on: end, from: '*', to: over}
"""


async def test_a_chart_has_nested_states_regions_history_waits_and_limits() -> None:
    clock = SimulatedClock()
    async with LocalConductor(catalog=catalog(FakeModel(), load_chart(TRIP)), clock=clock) as conductor:
        run = await start_run(conductor, 'trip')
        await conductor.send(run, 'leave')
        memory = (await conductor.view(run)).memory
        assert [place['name'] for place in memory['places']] == ['place 0', 'last']
        assert memory['places'][0]['tags'] == ['0', 'first'] and memory['best'] == memory['places'][0]
        assert memory['seen'] == {'place 0': [0, 1, 7]}
        assert (memory['days'], memory['log']) == (4, ['leaves at ', 'few'])
        await conductor.send(run, 'stride')
        await conductor.send(run, 'blink')
        await conductor.send(run, 'rest')
        with pytest.raises(InvalidInput, match='say why you stay'):
            await conductor.send(run, 'answer_it', data={'choice': 'stay'})
        with pytest.raises(EventRefused, match='goes is false'):
            await conductor.send(run, 'answer_it', data={'choice': 'stay', 'why': 'rain'})
        await conductor.send(run, 'answer_it', data={'choice': 'go'})
        view = await conductor.view(run)
        assert view.active == ('away.walking.feet.right', 'away.walking.eyes.shut')
        await conductor.send(run, 'rest')
        await clock.advance(39)
        assert (await conductor.view(run)).active == ('away.resting',)
        await clock.advance(2)
        await wait_for_state(conductor, run, 'away.walking.feet.left')


def test_what_parameters_decide_is_part_of_the_shape() -> None:
    trip = load_chart(TRIP)
    paths = {state.path for state in build_shape(trip.sample({'with_guide': False})).states}
    assert 'guided' in {state.path for state in build_shape(trip.sample()).states} and 'guided' not in paths
    with pytest.raises(InvalidInput, match='nobody travels 5 days'):
        trip.parse({'days': 5})


AGENT = """
chart: one
records: {Note: {title: string, points: {type: integer, minimum: 0}}}
prose: {Note: {title: text, points: 0}}
memory: {title: string, tries: integer}
roles: {writer: {instructions: You write.}}
initial: writing
states:
  writing:
    agent: {role: writer, retry: {attempts: 2, delay: 0}}
    output: Note
    prompt: Write.
    then: {set: {title: output.title}}
  over: {final: true}
  lost: {final: true, outcome: failed}
transitions:
  - {on: done, from: writing, to: over}
  - {on: failed, from: writing, to: lost}
on_retry: {increment: tries}
"""


async def test_words_can_stand_for_a_record_and_failures_be_counted() -> None:
    replies: list[Any] = [OSError('gone'), 'just words', 'just words']
    model = FakeModel(lambda request: replies.pop(0))
    async with LocalConductor(catalog=catalog(model, load_chart(AGENT))) as conductor:
        outcome = await conductor.result(await complete_run(conductor, 'one'))
    assert (outcome.status, outcome.memory) == ('done', {'title': 'just words', 'tries': 1})


async def test_an_agent_works_until_its_criteria_are_met() -> None:
    until = 'until: {signal: DONE, rule: all, checks: [{name: is_long, must: len(text) > 20, missing: more}]}'
    text = AGENT.replace('retry: {attempts: 2, delay: 0}', until).replace('    output: Note\n', '')
    text = text.replace('title: output.title', 'title: text')
    replies = ['Short.', 'Short.\nDONE', 'This is long enough now.\nDONE']
    async with LocalConductor(
        catalog=catalog(FakeModel(lambda request: replies.pop(0)), load_chart(text))
    ) as conductor:
        outcome = await conductor.result(await complete_run(conductor, 'one'))
    assert (outcome.status, outcome.memory['title'].strip()) == ('done', 'This is long enough now.\nDONE')


@pytest.mark.parametrize(
    ('old', 'new', 'line', 'says'),
    [
        ('{role: writer,', '{role: editor,', 10, "there is no role 'editor'; available: writer"),
        ('output: Note', 'output: Noet', 11, "there is no record 'Noet'; available: Note"),
        ('{title: output.title}', '{title: output.titel}', 13, "note has no field 'titel'; available: title"),
        ('{title: output.title}', '{titel: output.title}', 13, "memory has no field 'titel'; available"),
        ('{title: output.title}', '{title.x: text}', 13, 'a text has nothing inside'),
        ('{title: output.title}', '{title: {text: text}}', 13, 'is the fixed text'),
        ('{title: output.title}', '{title: titel}', 13, "column 1: there is no 'titel'"),
        ('then: {set:', 'then: {sett:', 13, "there is no field 'sett' here"),
        ('then: {set: {title: output.title}}', 'then: keep', 13, "there is no action 'keep'"),
        ('prompt: Write.', "prompt: ''", 9, 'an agent needs a `prompt`'),
        ('prompt: Write.', 'prompt: "{{ memory.tile }}"', 12, "memory has no field 'tile'"),
        ('to: over}', 'to: ovr}', 17, "there is no state 'ovr'; did you mean over?"),
        ('to: over}', 'to: ended}', 17, "there is no state 'ended'; available: lost, over, writing"),
        ('from: writing, to: lost', 'from: wrting, to: lost', 18, "there is no state 'wrting'"),
        ('on: failed', 'on: start', 18, "'start' is an event of every run"),
        ('title: string, tries', 'title: sting, tries', 5, "there is no type 'sting'; available: string"),
        ('title: string, tries: integer', 'title: Note, tries: integer', 5, 'it needs a default'),
        ('tries: integer', 'tries: {type: integer, default: few}', 5, 'is no value of this type'),
        ('tries: integer', 'tries: {type: integer, minLength: 2}', 5, "does not fit the type 'integer'"),
        ('title: string, points', 'title: Note, points', 3, "record 'Note' holds itself"),
        ('initial: writing', 'initial: reading', 7, "it names no state: 'reading'"),
        ('  over: {final: true}', '  over: {final: true, agent: writer, prompt: a}', 14, 'is not final'),
        ('  over: {final: true}', '  over: {final: true, prompt: a}', 14, 'a state with an agent'),
        ('  over: {final: true}', '  over: {outcome: lost}', 14, "'done' or 'failed'"),
        ('  over: {final: true}', '  over:', 14, 'nothing leads out of it'),
        ('  over: {final: true}', '  over: {final: true, within: -1}', 14, 'more than 0 seconds'),
        ('on_retry:', 'answer: titel\non_retry:', 19, "Memory has no field 'titel'"),
        ('on_retry:', 'projects: [folder]\non_retry:', 19, "there is no parameter 'folder'"),
        ('on_retry:', 'stubs: {writer: [{title: A}]}\non_retry:', 19, 'writer.0.points: Field required'),
        ('on_retry:', 'stubs: {cook: [A]}\non_retry:', 19, "there is no agent 'cook'"),
        ('on_retry:', 'scenarios: [{title: A, parameters: {x: 1}}]\non_retry:', 19, 'no such parameter'),
        ('on_retry:', 'guards: {is_on: tries > 1}\non_retry:', 19, "there is no 'tries'"),
        ('on_retry:', 'define: {a: b, b: 1}\non_retry:', 19, "there is no 'b'"),
        ('on_retry:', 'define: {memory: 1}\non_retry:', 19, "'memory' already means something else"),
        ('on: failed', 'on: a.b', 18, 'letters, digits, spaces'),
        ('chart: one', 'chart: two', 2, "must be 'one', as the file is called"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_lines(old: str, new: str, line: int, says: str) -> None:
    text = AGENT.replace(old, new, 1)
    with pytest.raises(InvalidInput) as refused:
        load_chart(text, name='one.chart.yaml')
    problems = refused.value.problems
    assert says in problems.get(f'one.chart.yaml:{line}', ''), problems


def test_stubs_of_a_role_that_nobody_plays_are_left_out() -> None:
    text = (
        AGENT.replace('roles: {', 'roles: {cook: {}, ')
        + 'stubs: {cook: [Soup.], writer: [{title: A, points: 1}]}\n'
    )
    assert load_chart(text).stubs_for() == {'writer': ({'title': 'A', 'points': 1},)}


def test_several_mistakes_are_named_at_once() -> None:
    text = (
        AGENT.replace('role: writer,', 'role: editor,')
        .replace('output.title', 'output.x')
        .replace('to: over', 'to: x')
    )
    with pytest.raises(InvalidInput) as refused:
        load_chart(text)
    assert list(refused.value.problems) == ['chart:10', 'chart:13', 'chart:17']


def test_guards_explain_the_names_that_a_file_defines() -> None:
    text = TRIP.replace('  goes: data.choice', '  goes: many and data.choice')
    explanation = GuardExplanations(load_chart(text).sample(), {}).of(
        'away.resting',
        'away.walking',
        'goes',
        {'memory': {'places': [1]}},
        Event(name='answer_it', data={'choice': 'go'}),
    )
    assert dict(explanation.values) == {'event.choice': 'go', 'places': [1]}


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_the_published_schema_accepts_what_is_read(path: Path) -> None:
    _, data = read_chart(path.read_text(), Problems(path.name))
    jsonschema.Draft202012Validator.check_schema(chart_schema())
    jsonschema.Draft202012Validator(chart_schema()).validate(data)
    assert ChartFile.model_validate(data)


def test_every_name_is_described() -> None:
    assert NAMES.keys() == READERS.keys()


async def test_the_guides_chart_plays_its_scenario_to_the_end() -> None:
    guide = (Path(__file__).parents[4] / 'assets' / 'guide' / 'charts.md').read_text('utf-8')
    (text,) = re.findall(r'^```yaml\n(chart: .*?)^```', guide, re.MULTILINE | re.DOTALL)
    chart = load_chart(text, name='critique.chart.yaml')
    (scenario,) = chart.file.scenarios
    async with LocalConductor(catalog=replace(Catalog.load(), patterns={'critique': chart})) as conductor:
        run = await complete_run(conductor, 'critique', scenario.parameters, stubs=scenario.stubs)
        outcome = await conductor.result(run)
    assert (outcome.status, outcome.answer) == ('done', 'To Ada and her engine.')
