"""Chart files from anyone: what could harm is refused by line, or stopped with a clear error."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidInput, LocalConductor
from engine.charts import load_chart
from engine.charts.compiling.scope import MAX_ITEMS, MAX_STEPS, Values
from engine.operations.rehearsal import rehearse
from engine.statechart.expressions.compiler import Evaluation
from engine.statechart.expressions.expression import compute, parse_expression
from engine.statechart.shape_builder import build_shape
from tests.support.harness import FakeModel, catalog, complete_run
from ui.formatting.diagram.rendering import export_chart

FOLDER = Path(__file__).parents[3] / 'support' / 'charts'
TEXT = (FOLDER / 'critique.chart.yaml').read_text()
SECONDS = 2.0
"""The longest that anything here may take, on a slow machine."""
GUARD = '  is_approved: memory.review.approved'
PROMPT = '      Task: {{ memory.task }}'
KEEP = '  keep: ['
BOMB = ''.join(f'  a{n}: [{", ".join([f"a{n + 1}"] * 9)}]\n' for n in range(9))
HUGE = '10**9'


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count('\n') + 1


def problems(text: str) -> dict[str, str]:
    begun = time.process_time()
    with pytest.raises(InvalidInput) as refused:
        load_chart(text, name='critique')
    assert time.process_time() - begun < SECONDS
    return refused.value.problems


@pytest.mark.parametrize(
    ('old', 'new', 'says'),
    [
        # YAML
        ('title: Critique', 'title: &title Critique', 'anchors and aliases'),
        ('title: Critique', 'title: *title', 'anchors and aliases'),
        ('title: Critique', 'title: !!python/object/apply:os.system [ls]', 'tags'),
        ('title: Critique', 'title: !name Critique', 'tags'),
        ('title: Critique', f'title: {"[" * 60}{"]" * 60}', 'nested more than 40 deep'),
        ('title: Critique', 'title: Critique\ntitle: Again', "'title' is there twice"),
        ('title: Critique', 'title: "a\\0b"', 'control character'),
        ('title: Critique', 'title: "a\\ud800b"', 'is neither YAML nor JSON'),
        ('title: Critique', f'title: {"x" * 300}', 'at most 200 characters'),
        ('title: Critique', 'title: {a: b}', 'valid string'),
        ('title: Critique', '? [a, b]\n: Critique', 'the name of a field must be a text'),
        ('title: Critique', 'exec: rm', "there is no field 'exec' here"),
        # names
        ('  judging: {', '  <img src=x onerror=alert(1)>: {', 'a name'),
        ('  judging: {', '  "jud\\nging": {', 'a name'),
        ('  judging: {', f'  {"j" * 61}: {{', 'at most 60'),
        ('  judging: {', '  a.b: {', 'a name'),
        ('  answer: string', '  __class__: string', 'a name'),
        ('  answer: string', '  model_fields: string', "'model_fields' is reserved"),
        ('  answer: string', '  detached_copy: string', "'detached_copy' is reserved"),
        ('  answer: string', '  class: string', 'is a word of expressions'),
        ('  critic: {', '  cri<b>tic: {', 'a name'),
        ('  - {on: done, from: writing', '  - {on: "<b>", from: writing', 'a name'),
        # expressions
        (GUARD, '  is_approved: memory.__class__', "'__class__' cannot be used"),
        (GUARD, '  is_approved: memory.task.__init__.__globals__', "'__init__' cannot be used"),
        (GUARD, '  is_approved: ().__class__.__bases__[0].__subclasses__()', 'cannot be used'),
        (GUARD, '  is_approved: __import__("os")', "there is no function '__import__'"),
        (GUARD, '  is_approved: open("/etc/passwd")', "there is no function 'open'"),
        (GUARD, '  is_approved: "lambda: 1"', 'an inline function cannot be used'),
        (GUARD, f'  is_approved: {HUGE}', 'a power cannot be used'),
        (GUARD, '  is_approved: (x := 1)', '`:=` cannot be used'),
        (GUARD, f'  is_approved: {"not " * 400}true', 'nested too deeply'),
        (GUARD, f'  is_approved: memory{".a" * 900}', 'nested too deeply'),
        (GUARD, f'  is_approved: {"(" * 900}', ''),
        (GUARD, f'  is_approved: "{"x" * 2_001}"', 'at most 2000 characters'),
        # templates
        (PROMPT, "      {{ ''.__class__ }}", "'__class__' cannot be used"),
        (PROMPT, '      {{ memory.__init__.__globals__ }}', "'__init__' cannot be used"),
        (PROMPT, '      {{ memory["__class__"] }}', "'__class__' cannot be used"),
        (PROMPT, "      {{ memory.task | attr('__class__') }}", "there is no function 'attr'"),
        (PROMPT, "      {{ memory.task | map(attribute='__class__') }}", '`filter` cannot be used'),
        (PROMPT, f"      {{{{ 'a'.ljust({HUGE}) }}}}", '`call` cannot be used'),
        (PROMPT, f"      {{{{ 'a' * {HUGE} }}}}", '`**` cannot be used'),
        (PROMPT, "      {{ 'a' ~ 'b' }}", '`~` cannot be used'),
        (PROMPT, '      {{ namespace() }}', "there is no function 'namespace'"),
        (PROMPT, '      {{ self }}', "there is no 'self'"),
        (PROMPT, '      {% include "/etc/passwd" %}', '`include` cannot be used'),
        (PROMPT, '      {% import "os" as os %}', '`import` cannot be used'),
        (PROMPT, '      {% macro a() %}{{ a() }}{% endmacro %}', '`macro` cannot be used'),
        (PROMPT, '      {% for x in memory.drafts recursive %}{% endfor %}', '`for` cannot be used'),
        (PROMPT, '      {% for a, b in memory.drafts %}{% endfor %}', '`for` cannot be used'),
        (PROMPT, f'      {{{{ memory{".a" * 5_000} }}}}', 'nested too deeply'),
        (PROMPT, f'      {{{{ {"(" * 3_000} }}}}', ''),
        (PROMPT, f'      {"{% if true %}" * 300}{"{% endif %}" * 300}', 'nested too deeply'),
        (PROMPT, '      {{ memory.task', 'expected token'),
        # numbers that no journal holds
        ('round: {type: integer, default: 0}', 'round: {type: number, default: 1e400}', 'is too large'),
        (GUARD, '  is_approved: memory.round < 1e400', 'is too large'),
        (PROMPT, '      {{ 1e400 }}', 'is too large'),
        # bounds that do not fit
        ('default: 2, minimum: 0,', 'default: 2, minimum: 0.5,', 'must be a whole number'),
        ('default: 2, minimum: 0,', 'default: 2, minimum: 3,', 'greater than or equal to 3'),
        ('title: Rounds, default: 2,', 'title: Rounds, default: 2, enum: [2],', '`enum` already says'),
        # bombs of actions
        (KEEP, '  keep: [keep, ', 'is a part of itself'),
        (
            KEEP,
            f'{BOMB}  a9: [keep]\n{KEEP}',
            'the actions have more than 5,000 steps',
        ),
        ('[{increment: round}]', '[{}]', 'a step has one of'),
    ],
)  # fmt: skip
def test_what_could_harm_is_refused_by_line(old: str, new: str, says: str) -> None:
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    named = problems(text)
    assert any(says in problem for problem in named.values()), named
    assert all(place.startswith('critique:') and place[9:].isdecimal() for place in named)


def test_a_problem_is_at_the_line_of_its_field() -> None:
    text = TEXT.replace(PROMPT, f'{PROMPT}\n      {{{{ memory.none }}}}').replace(
        'is_spent: {if: ', 'is_spent: {if: wrong '
    )
    named = problems(text)
    assert set(named) == {
        f'critique:{line_of(text, "memory.none")}',
        f'critique:{line_of(text, "is_spent: {if")}',
    }


def test_what_is_huge_is_refused() -> None:
    assert problems(TEXT + '#' * 300_000) == {'critique:1': 'is larger than 256 KB'}
    voters = (FOLDER / 'vote.chart.yaml').read_text()
    many = voters.replace('default: 3, minimum: 2, maximum: 6', 'default: 9000')
    with pytest.raises(InvalidInput, match='it has more than 200 roles'):
        load_chart(many)
    states = TEXT.replace('  done: {final: true}\n', REPEATED)
    assert set(problems(states).values()) == {'it has more than 500 states'}
    uses = ''.join(f'  - {{on: e{number}, from: writing, do: big}}\n' for number in range(1_000))
    big = f"  big: {{set: {{answer: '{'{{ memory.task }}' + 'x' * 60_000}'}}}}\n{KEEP}"
    load_chart(TEXT.replace(KEEP, big) + uses)  # Its text is compiled once.
    each = uses.replace('do: big', 'do: {let: {a_: "1"}, action: big}')
    various = ''.join(line.replace('a_', f'a{at}') for at, line in enumerate(each.splitlines(keepends=True)))
    named = problems(TEXT.replace(KEEP, big) + various)
    assert all('more than 500,000 characters' in problem for problem in named.values())
    edges = ''.join(f"  - {{on: a{number}, from: '*', to: done}}\n" for number in range(2_000))
    assert set(problems(TEXT + edges).values()) == {'it has more than 5,000 edges'}


REPEATED = """\
  done: {final: true}
  regions:
    parallel:
      each: {for: 'x in range(1, 400)', name: 'r{{ x }}', initial: over, states: {over: {final: true}}}
"""
AGAIN = '{% set t = replace(t, memory.task, t + t) %}'
DRAFT = f'{{text: "\'{"x" * 1_500}\'", round: x}}'
TWICE = '1 + sum([memory.round, memory.round])'
RUNAWAYS = [
    (GUARD, '  is_approved: "any(x + y < 0 for x in range(9999) for y in range(9999))"', 'takes too long'),
    (GUARD, '  is_approved: len(range(1000000)) > 1', 'range gives at most 10,000 numbers'),
    (PROMPT, '      {% for x in range(1000000) %}{{ x }}{% endfor %}', 'range gives at most 10,000 numbers'),
    (
        PROMPT,
        '      {% for x in range(9999) %}{% for y in range(9999) %}{% endfor %}{% endfor %}',
        'takes too long',
    ),
    (PROMPT, "      {{ 'a' * 1000000000 }}", 'cannot work with a text and a number'),
    (PROMPT, "      {{ '%1000000000d' % 1 }}", 'cannot work with a text and a number'),
    (PROMPT, f'      {{% set t = memory.task %}}{"{% set t = t + t %}" * 60}{{{{ t }}}}', 'too long'),
    (PROMPT, f'      {{% set t = memory.task %}}{AGAIN * 60}', 'too long'),
    (GUARD, '  is_approved: len([range(9999) for x in range(9999)]) > 1', 'takes too long'),
    (PROMPT, "      {{ join(range(9999), join(range(9999), join(range(99)))) }}", 'too long'),
    (KEEP, f'  keep: [{{for: x in range(999), append: {{drafts: {DRAFT}}}}}, ', 'too much text'),
    (KEEP, '  keep: [{for: x in range(999), do: {for: y in range(999), increment: round}}, ', 'too long'),
    (KEEP, '  keep: [{for: x in range(999), do: {set: {answer: string(memory) + string(memory)}}}, ', 'too'),
    (KEEP, '  keep: [{for: x in range(99), increment: {round: 1 + memory.round * memory.round}}, ', 'large'),
    (KEEP, f'  keep: [{{for: x in range(1100), set: {{round: "{TWICE}"}}}}, ', 'would be too large'),
    (KEEP, '  keep: [{set: {round: 1e308 * 10}}, ', 'would be too large'),
    (KEEP, '  keep: [{set: {drafts: 3}}, ', 'drafts: Input should be a valid list'),
    (KEEP, "  keep: [{set: {'drafts[7].text': text}}, ", 'the list has 0 items, and none at 7'),
]  # fmt: skip


@pytest.mark.parametrize(('old', 'new', 'says'), RUNAWAYS)
async def test_what_would_not_end_is_stopped_with_a_clear_error(old: str, new: str, says: str) -> None:
    def reply(request: Any) -> Any:
        return 'a draft' if request.hints.role == 'writer' else {'approved': True, 'comments': []}

    text = TEXT.replace(old, new, 1)
    begun = time.process_time()
    async with LocalConductor(catalog=catalog(FakeModel(reply), load_chart(text))) as conductor:
        try:
            outcome = await conductor.result(await complete_run(conductor, 'critique', {'task': 'A toast'}))
            status, error = outcome.status, outcome.error
        except Exception as stopped:
            status, error = 'failed', str(stopped)
    assert time.process_time() - begun < SECONDS
    assert status == 'failed' and says in error, error


CHAIN = "[{'id': x, 'needs': [x + 1] if x < 6999 else [], 'rank': x % 7} for x in range(7000)]"


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        (f'[item.id for item in first(order({CHAIN}), 2)]', [6_999, 6_998]),
        ("[item.id for item in first(order([{'id': x, 'rank': x % 3} for x in range(7000)], 'id', 'needs', "
         "'rank'), 3)]", [0, 3, 6]),
        ('index([[x] for x in range(4500)], [[y] for y in range(4500)])', None),
        ('count([[x] for x in range(4500)], [[y] for y in range(4500)])', 0),
    ],
)  # fmt: skip
def test_long_lists_are_ordered_and_searched_quickly(text: str, value: Any) -> None:
    begun = time.process_time()
    part = parse_expression(text, ()).part
    assert compute(part, Evaluation(Values({}), {}, MAX_STEPS, MAX_ITEMS)) == value
    assert time.process_time() - begun < SECONDS


def test_a_web_of_loops_is_rehearsed_quickly() -> None:
    names = [f's{number}' for number in range(120)]
    edges = [
        f"  - {{on: always, from: {name}, to: {names[(at * 7 + step) % 120]}, if: 'memory.n > {step}'}}\n"
        for at, name in enumerate(names)
        for step in range(12)
    ]
    states = ''.join(f'  {name}:\n' for name in names)
    head = f'chart: web\nmemory: {{n: integer}}\ninitial: s0\nstates:\n{states}  over: {{final: true}}\n'
    workflow = load_chart(
        f'{head}transitions:\n{"".join(edges)}  - {{on: always, from: s0, to: over}}\n'
    ).sample()
    begun = time.process_time()
    assert rehearse(workflow, seconds=0).findings
    assert time.process_time() - begun < SECONDS


async def test_automatic_edges_in_a_circle_end_the_run() -> None:
    text = TEXT.replace('{on: done, from: writing, to: judging}', '{on: done, from: writing, to: a}').replace(
        '  done: {final', '  a:\n  b:\n  done: {final'
    )
    text += '  - {on: always, from: a, to: b}\n  - {on: always, from: b, to: a}\n'
    async with LocalConductor(catalog=catalog(FakeModel('a draft'), load_chart(text))) as conductor:
        outcome = await conductor.result(await complete_run(conductor, 'critique', {'task': 'A toast'}))
    assert outcome.status == 'failed' and '100 transitions without an event' in outcome.error


async def test_states_may_have_the_names_of_what_python_has() -> None:
    names = ['__class__', 'states', 'model', 'self', 'initial', 'class', 'is_x', 'trigger', 'name']
    states = '\n'.join(f'  {name}:' for name in names)
    edges = '\n'.join(
        f'  - {{on: always, from: {name}, to: {after}, do: {{increment: at}}}}'
        for name, after in zip(names, [*names[1:], 'get'], strict=True)
    )
    head = 'chart: names\nmemory: {at: integer}\ninitial: __class__'
    text = f'{head}\nstates:\n{states}\n  get: {{final: true}}\ntransitions:\n{edges}\n'
    async with LocalConductor(catalog=catalog(FakeModel(), load_chart(text))) as conductor:
        outcome = await conductor.result(await complete_run(conductor, 'names', {}))
    assert (outcome.status, outcome.memory['at']) == ('done', len(names))


async def test_markup_in_a_chart_is_text_in_its_diagram() -> None:
    text = TEXT.replace('if: is_approved}', 'if: "memory.task != \'<script>alert(1)</script>\'"}', 1)
    text = text.replace('title: Critique', 'title: <script>alert(2)</script>')
    drawn = await export_chart(build_shape(load_chart(text).sample()), 'svg', folded=True)
    assert '<script' not in drawn and '&lt;script' in drawn


FIELDS = st.sampled_from(
    ['chart', 'states', 'initial', 'memory', 'transitions', 'on', 'from', 'if', 'agent', 'a', '']
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | FIELDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(FIELDS | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=60) | st.dictionaries(FIELDS, VALUES, max_size=6).map(str),
    st.integers(0, len(TEXT)),
    st.integers(0, 40),
)
def test_any_text_loads_or_is_refused_by_line(text: str, at: int, length: int) -> None:
    for candidate in (text, TEXT[:at] + text + TEXT[at + length :]):
        try:
            load_chart(candidate)
        except InvalidInput as error:
            assert error.problems and all(place.startswith('chart:') for place in error.problems)
