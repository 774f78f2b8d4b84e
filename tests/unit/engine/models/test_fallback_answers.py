"""Improvised answers: they fit any schema, use the task's words, and answer the question."""

import json
import string
from dataclasses import replace
from datetime import date, datetime
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from engine import Catalog, LocalConductor, Status
from engine.host.clock import settle
from engine.journal import MemoryJournal
from engine.models.prepared_replies import Turn
from engine.models.protocol import Hints, ModelRequest, ToolSpec
from engine.models.scripted.fallback_answers import improvise
from engine.models.scripted.model import Scripted
from engine.models.scripted.schema_faker import SchemaFaker
from engine.models.scripted.schema_match import fits
from engine.models.scripted.topic_extraction import extract_topic
from engine.patterns.debate.records import Position
from engine.patterns.pipeline.pattern import Findings
from engine.patterns.pipeline.task_state import Review
from engine.records.message import Message, ToolResult

TASK = 'Should the library of Ghent lend bicycles at 12 euros a month?'
TOOLS = tuple(ToolSpec(name=name, description='', schema={}) for name in ('notes', 'calculator'))


def request(
    role: str, prompt: str = TASK, *, output: type[BaseModel] | None = None, tools: bool = False, **hints: Any
) -> ModelRequest:
    return ModelRequest(
        model='scripted',
        messages=(Message.of('user', prompt),),
        tools=TOOLS if tools else (),
        schema=output.model_json_schema() if output else None,
        hints=Hints(**{'pattern': 'other', 'role': role, 'task': TASK, **hints}),
    )


class Colour(Enum):
    RED = 'red'
    BLUE = 'blue'


class Tree(BaseModel):
    label: str = Field(min_length=2, max_length=12)
    left: 'Tree | None' = None
    children: list['Tree'] = []


class Cat(BaseModel):
    kind: Literal['cat']
    lives: int = Field(ge=1, le=9)


class Dog(BaseModel):
    kind: Literal['dog']
    tricks: set[str] = Field(min_length=2)


class Zoo(BaseModel):
    model_config = {'extra': 'forbid', 'str_strip_whitespace': True}

    animals: list[Annotated[Cat | Dog, Field(discriminator='kind')]] = Field(min_length=2, max_length=4)
    tree: Tree
    colour: Colour
    opened: date
    by_colour: dict[Colour, int] = Field(min_length=1)


LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([str, int, float, bool, None, Any, date, datetime, UUID]),
    st.sampled_from([Colour, Tree, Zoo, Literal['a', 3], dict[str, Any]]),
    st.tuples(st.integers(0, 400), st.integers(0, 80)).map(
        lambda size: Annotated[str, Field(min_length=size[0], max_length=size[0] + size[1])]
    ),
    st.tuples(st.integers(-(10**20), 10**20), st.integers(0, 10**20)).map(
        lambda ends: Annotated[int, Field(ge=ends[0], le=ends[0] + ends[1])]
    ),
    st.tuples(st.integers(-1000, 1000), st.integers(2, 1000)).map(
        lambda ends: Annotated[int, Field(gt=ends[0], lt=ends[0] + ends[1])]
    ),
    st.tuples(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9)).map(
        lambda ends: Annotated[float, Field(gt=ends[0], lt=ends[0] + ends[1] + abs(ends[0]) * 1e-6)]
    ),
    st.integers(-1000, 1000).map(lambda low: Annotated[int, Field(gt=low)]),
    st.floats(-1e9, 1e9).map(lambda high: Annotated[float, Field(le=high)]),
    st.integers(2, 9).map(lambda step: Annotated[int, Field(multiple_of=step, ge=-5, le=50)]),
    st.sampled_from([r'^[a-z]+$', r'^\d{4}$', r'^[A-Z]{2}-\d+$']).map(
        lambda pattern: Annotated[str, Field(pattern=pattern)]
    ),
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    sizes = st.tuples(st.integers(0, 5), st.integers(0, 3))
    return st.one_of(
        st.tuples(inner, sizes).map(
            lambda two: Annotated[list[two[0]], Field(min_length=two[1][0], max_length=sum(two[1]))]  # type: ignore[name-defined]
        ),
        st.tuples(inner, inner).map(lambda two: tuple[two[0], two[1]]),  # type: ignore[valid-type]
        inner.map(lambda one: tuple[one, ...]),
        inner.map(lambda one: one | None if one is not None and one is not Any else None),
        st.tuples(inner, st.integers(0, 4)).map(
            lambda two: Annotated[dict[str, two[0]], Field(min_length=two[1])]  # type: ignore[name-defined]
        ),
        st.integers(0, 6).map(lambda least: Annotated[set[str], Field(min_length=least)]),
        st.integers(0, 6).map(lambda least: Annotated[frozenset[int], Field(min_length=least)]),
        st.sampled_from([date, UUID]).map(lambda one: Annotated[set[one], Field(min_length=4)]),  # type: ignore[valid-type]
        inner.map(lambda one: create_model('Inner', value=(one, ...))),
    )


TYPES = st.recursive(LEAVES, containers, max_leaves=6)
NAMES = st.sampled_from(
    [
        *('approved', 'score', 'comments', 'summary', 'findings', 'sources'),
        *('title', 'options', 'done', 'value', 'x_y'),
    ]
)
RECORDS = st.dictionaries(NAMES, TYPES, min_size=1, max_size=4).map(
    lambda fields: create_model('Record', **{name: (kind, ...) for name, kind in fields.items()})
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(record=RECORDS, visit=st.integers(1, 3), task=st.sampled_from([TASK, '', '?', '12 34', 'ÆØÅ ' * 60]))
def test_answers_match_any_schema(record: type[BaseModel], visit: int, task: str) -> None:
    turn = improvise(request('stranger', task, output=record, visit=visit, task=task))
    assert turn.answer is not None
    record.model_validate_json(json.dumps(turn.answer))
    schema = record.model_json_schema()
    assert fits(turn.answer, schema, schema)


@given(
    task=st.text(max_size=200),
    visit=st.integers(1, 3),
    role=st.sampled_from(['researcher', 'analyzer', 'pro', '']),
)
def test_any_task_gets_an_answer(task: str, visit: int, role: str) -> None:
    turn = improvise(request(role, task, visit=visit, task=task))
    assert turn.text.strip()
    assert extract_topic(task).terms


def test_a_recursive_schema_ends() -> None:
    value = SchemaFaker(Tree.model_json_schema(), lambda name, index: f'{name} {index}').value()
    Tree.model_validate(value)


@pytest.mark.parametrize(
    ('value', 'schema', 'fit'),
    [
        (1, {'type': 'integer'}, True),
        (True, {'type': 'integer'}, False),
        (1.0, {'type': 'integer'}, False),
        (2, {'exclusiveMinimum': 2}, False),
        (0.3, {'multipleOf': 0.1}, True),
        ('abc', {'type': 'string', 'maxLength': 2}, False),
        ('abc', {'pattern': '(?<bad'}, True),
        ([1, 1], {'uniqueItems': True}, False),
        ([1, 'a'], {'prefixItems': [{'type': 'integer'}], 'items': False}, False),
        ('soon', {'type': 'string', 'format': 'date'}, False),
        ({'a': 1}, {'required': ['b']}, False),
        ({'a': 1}, {'properties': {}, 'additionalProperties': False}, False),
        ({'a': None}, {'properties': {'a': {'anyOf': [{'type': 'string'}, {'type': 'null'}]}}}, True),
        (None, {'type': ['string', 'null']}, True),
        ('x', {'allOf': [{'type': 'string'}, {'minLength': 2}]}, False),
    ],
)
def test_a_value_is_checked_against_its_schema(value: Any, schema: dict[str, Any], fit: bool) -> None:
    assert fits(value, schema, schema) is fit


def test_a_topic_is_extracted_from_the_text() -> None:
    topic = extract_topic('Should a small team adopt event sourcing for its order system?')
    assert topic.terms == ('event sourcing', 'a small team', 'the order system')
    assert extract_topic('Compare a heat pump and a gas boiler').options == ('a heat pump', 'a gas boiler')
    assert extract_topic('PostgreSQL vs SQLite for a desktop app').options == ('PostgreSQL', 'SQLite')
    assert (
        extract_topic('Write a one-page briefing on heat pumps for a 1970s house.').subject
        == 'heat pumps for a 1970s house'
    )
    assert extract_topic('Compare a heat pump and a gas boiler').sum is None
    yearly = extract_topic('We pay 1,200 euros a month').sum
    assert yearly is not None and yearly.expression == '1200 * 12'
    shared = extract_topic('A conference for 120 people with 40,000 euros').sum
    assert shared is not None and shared.expression == '40000 / 120'


def test_a_researcher_notes_calculates_and_then_reports() -> None:
    first = improvise(request('researcher', output=Findings, tools=True))
    assert [call.tool for call in first.calls] == ['notes', 'calculator']
    assert first.calls[1].arguments == {'expression': '12 * 12'}
    next_request = append_result(request('researcher', output=Findings, tools=True), 'calculator', '144')
    findings = Findings.model_validate(improvise(next_request).answer)
    assert any('144' in finding for finding in findings.findings)
    assert any('library' in finding for finding in findings.findings)
    assert 'My own calculation' in findings.sources


def test_a_reviewer_sends_back_once_and_then_approves() -> None:
    first = Review.model_validate(improvise(request('reviewer', output=Review)).answer)
    assert not first.approved and first.comments
    assert any(extract_topic(TASK).term(0) in comment for comment in first.comments)
    second = Review.model_validate(improvise(request('reviewer', output=Review, visit=2)).answer)
    assert second.approved and not second.comments
    assert second.score > first.score


def test_a_revision_answers_every_comment() -> None:
    findings = '- Bicycles rust.\n- Ghent is flat.\n\nOpen questions:\n- Who pays?'
    prompt = f'Task:\n{TASK}\n\nFindings:\n{findings}\n\nWrite the analysis.'
    first = improvise(request('analyzer', prompt)).text
    assert '- Bicycles rust.' in first and 'Who pays?' not in first
    rejection = (
        'Draft 1:\n1. Old.\n\nReview 1 (sent back): so so\n1. Name the cost.\n2. Compare | weigh.\n\n'
        'Revise draft 1.'
    )
    second = improvise(request('analyzer', rejection, visit=2)).text
    assert '| Name the cost. |' in second and '| Compare / weigh. |' in second
    assert not set(headings(first)[1:]) & set(headings(second))


def test_a_rejected_answer_is_rebuilt_from_the_schema() -> None:
    plain = improvise(request('reviewer', output=Review)).answer
    second_answer = improvise(
        request('reviewer', 'Your answer does not fit: score', output=Review, turn=1)
    ).answer
    assert plain and second_answer and plain['comments'] != second_answer['comments']
    Review.model_validate(second_answer)


def test_agents_of_one_role_differ_and_take_sides() -> None:
    texts = {improvise(request('worker', state=f'team.w{number}')).text for number in range(8)}
    assert len(texts) > 2
    assert improvise(request('pro')).text != improvise(request('con')).text


@pytest.mark.parametrize('task', [TASK, 'Explain monads', '12', 'x' * 300, string.punctuation])
async def test_a_pipeline_ends_approved_whatever_the_task(task: str) -> None:
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0)
    async with LocalConductor(MemoryJournal(), catalog=catalog) as conductor:
        run = (await conductor.start('pipeline', {'task': f'On {task}'})).id
        while not (await conductor.info(run)).status.ended:
            await settle()
        outcome = await conductor.result(run)
    assert outcome.status is Status.DONE
    assert outcome.memory['approved']
    drafts = outcome.memory['drafts']
    assert len(drafts) == 2 and drafts[0]['text'] != drafts[1]['text']


def test_a_turn_belongs_to_a_scenario() -> None:
    assert isinstance(improvise(request('anyone')), Turn)


def test_a_reviewer_runs_every_candidates_tests_and_uses_the_results() -> None:
    prompt = 'Your folder holds copies of them: coder1/ (version 1, 2 files), coder2/ (version 1, 9 files).'
    names = ('list_files', 'test_candidate', 'compare_candidates')
    tools = tuple(ToolSpec(name=name, description='', schema={}) for name in names)
    model_request = replace(request('reviewer1', prompt, output=Position), tools=tools)
    look, compare = improvise(model_request).calls
    assert (look.tool, compare.arguments) == ('list_files', {'first': 'coder1', 'second': 'coder2'})
    listed = 'coder1/\ncoder1/test_a.py  9\ncoder2/\ncoder2/tests/test_b.py  8\ncoder3/\ncoder3/note.txt  7'
    model_request = append_result(model_request, 'list_files', listed)
    assert [call.arguments for call in improvise(model_request).calls] == [
        {'candidate': 'coder1'},
        {'candidate': 'coder2'},
    ]
    model_request = append_result(model_request, 'test_candidate', 'coder1 version 1: 3 passed in 0.1 s')
    assert improvise(model_request).answer['rests_on'] == ['coder1 version 1: 3 passed']


def append_result(request: ModelRequest, tool: str, text: str) -> ModelRequest:
    """Return the next request, after a tool's result."""
    result = Message(role='tool', parts=(ToolResult(id='1', name=tool, text=text, ok=True),))
    hints = replace(request.hints, turn=request.hints.turn + 1)
    return replace(request, messages=(*request.messages, result), hints=hints)


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith('#')]
