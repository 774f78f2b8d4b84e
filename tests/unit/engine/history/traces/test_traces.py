"""Traces of other frameworks as runs: their charts, texts and counts, and refused actions."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Conductor, LocalConductor, Status
from engine.errors import BundleError, Diverged, UnknownPattern
from engine.history.chart_walk import audit_walk
from engine.history.traces import attributes as names
from engine.journal import MemoryJournal
from engine.records import RunId, RunInfo
from storage import open_journal
from tests.golden.traces import FOLDER

CHAT = {names.OPERATION: 'chat', names.MODEL: 'm', names.INPUT_TOKENS: 3, names.OUTPUT_TOKENS: 2}


@pytest.fixture(params=['memory', 'sql'])
async def conductor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Conductor]:
    journal = MemoryJournal() if request.param == 'memory' else await open_journal(tmp_path / 'runs.db')
    async with LocalConductor(journal, workspaces=tmp_path / 'files') as conductor:
        yield conductor


@pytest.fixture
async def memory_conductor(tmp_path: Path) -> AsyncIterator[Conductor]:
    async with LocalConductor(workspaces=tmp_path / 'files') as conductor:
        yield conductor


def span(id: str, parent: str, during: tuple[float, float], error: str = '', **about: Any) -> dict[str, Any]:
    """Return a span as OTLP/JSON; times are in seconds."""
    return {
        'traceId': 'ab' * 16,
        'spanId': id,
        'parentSpanId': parent,
        'name': id,
        'startTimeUnixNano': str(round((1e9 + during[0]) * 1e9)),
        'endTimeUnixNano': str(round((1e9 + during[1]) * 1e9)),
        'attributes': [
            {'key': key, 'value': {'intValue' if isinstance(value, int) else 'stringValue': value}}
            for key, value in about.items()
        ],
        'status': {'code': 2, 'message': error} if error else {},
    }


def agent(id: str, parent: str, during: tuple[float, float], error: str = '') -> dict[str, Any]:
    return span(
        id, parent, during, error, **{names.OPERATION: 'invoke_agent', names.AGENT: id.partition('-')[0]}
    )


def chat(id: str, parent: str, during: tuple[float, float], error: str = '', **more: Any) -> dict[str, Any]:
    return span(id, parent, during, error, **CHAT, **more)


def tool(id: str, parent: str, during: tuple[float, float], error: str = '', **more: Any) -> dict[str, Any]:
    return span(id, parent, during, error, **{names.OPERATION: 'execute_tool', names.TOOL: id}, **more)


def make_output(text: str) -> dict[str, str]:
    return {
        names.OUTPUT_MESSAGES: json.dumps(
            [{'role': 'assistant', 'parts': [{'type': 'text', 'content': text}]}]
        )
    }


def request_of(*spans: Any) -> dict[str, Any]:
    return {'resourceSpans': [{'resource': {}, 'scopeSpans': [{'spans': list(spans)}]}]}


async def import_spans(conductor: Conductor, *spans: Any) -> RunId:
    [imported] = await conductor.import_bundle(io.BytesIO(json.dumps(request_of(*spans)).encode()))
    return imported.id


async def import_recording(conductor: Conductor, name: str) -> RunInfo:
    with (FOLDER / f'{name}.json').open('rb') as file:
        [imported] = await conductor.import_bundle(file)
    assert imported.outcome == 'new' and not imported.closed
    return await conductor.info(imported.id)


async def actives(conductor: Conductor, run: RunId) -> list[str]:
    return [' '.join(step.active) for step in await conductor.transitions(run)]


def parts(agent: Any) -> list[tuple[str, str, str]]:
    return [
        (message['role'], part['kind'], part.get('name') or part['text'])
        for message in agent['messages']
        for part in message['parts']
    ]


async def test_an_agent_that_calls_another_as_a_tool(conductor: Conductor) -> None:
    info = await import_recording(conductor, 'pydantic_ai')
    assert (info.pattern, info.title) == ('trace:planner', 'Plan three days in the north of Portugal.')
    assert info.status is Status.DONE and info.tags == ('imported trace',) and not info.simulated
    assert info.models == {'planner': 'planner-1', 'critic': 'critic-1'}
    assert (info.usage.input, info.usage.output, info.usage.calls) == (270, 108, 4)
    assert info.usage.cost is None
    assert await actives(conductor, info.id) == [
        'planner.thinking', 'planner.using_tools', 'planner.critic.thinking', 'planner.critic.using_tools',
        'planner.critic.thinking', 'planner.critic.done', 'planner.using_tools', 'planner.thinking',
        'planner.done', 'done',
    ]  # fmt: skip
    view = await conductor.view(info.id)
    planner, critic = view.agents['planner'], view.agents['planner.critic']
    assert (planner['role'], planner['instructions']) == ('planner', 'You plan short trips.')
    assert parts(planner)[:3] == [
        ('user', 'text', 'Plan three days in the north of Portugal.'),
        ('assistant', 'reasoning', 'The weather decides between the coast and the hills.'),
        ('assistant', 'call', 'weather'),
    ]
    results = next(message for message in planner['messages'] if message['role'] == 'tool')['parts']
    assert [(result['text'], result['ok']) for result in results] == [
        ('Porto: sunny, 19 degrees', True),
        ('there is no such place', False),
        ('Feasible: it is an hour and a half by train.', True),
    ]
    called = [part['id'] for part in planner['messages'][1]['parts'] if part['kind'] == 'call']
    assert [result['id'] for result in results] == called
    assert critic['input_tokens'] == 129 and len(critic['messages']) == 4
    assert view.memory['answer'].startswith('Two days in Porto')


async def test_a_handoff_of_openai_agents_is_drawn(memory_conductor: Conductor) -> None:
    info = await import_recording(memory_conductor, 'openai_agents')
    shape = await memory_conductor.shape(info.id)
    assert shape.title == 'Help desk' and [s.role for s in shape.states if s.role] == [
        'Front desk',
        'Refund clerk',
    ]
    view = await memory_conductor.view(info.id)
    assert parts(view.agents['Front_desk'])[1:] == [
        ('assistant', 'call', 'transfer_to_refund_clerk'),
        ('tool', 'result', 'handoff to Refund clerk'),
    ]
    clerk = view.agents['Refund_clerk']
    assert [name for _, kind, name in parts(clerk) if kind == 'call'] == [
        'transfer_to_refund_clerk', 'find_order', 'refund', 'find_order',
    ]  # fmt: skip
    assert clerk['turns'] == 3 and (info.usage.input, info.usage.output) == (370, 48)
    batch = (await memory_conductor.transitions(info.id))[7]
    assert [result['name'] for result in batch.event.data['results']] == ['refund', 'find_order']


async def test_parallel_nodes_of_langgraph_are_regions(memory_conductor: Conductor) -> None:
    info = await import_recording(memory_conductor, 'langgraph')
    shape = await memory_conductor.shape(info.id)
    [together] = [state for state in shape.states if state.kind == 'parallel']
    assert together.initial == ('together.fact_checker', 'together.style_checker')
    active = await actives(memory_conductor, info.id)
    assert 'together.fact_checker.thinking together.style_checker.thinking' in active
    assert 'together.fact_checker.done together.style_checker.thinking' in active
    view = await memory_conductor.view(info.id)
    assert view.agents['writer']['visits'] == 2
    assert parts(view.agents['tools']) == [('assistant', 'call', 'search'), ('tool', 'result', 'search')]
    assert view.memory['answer'] == 'Harbour silts up, say archives.'


async def test_an_agent_of_the_vercel_ai_sdk_is_imported(memory_conductor: Conductor) -> None:
    info = await import_recording(memory_conductor, 'vercel_ai')
    assert (info.pattern, info.title) == ('trace:tide-clerk', 'When is high water in Brest?')
    assert (info.usage.input, info.usage.output) == (40, 14)
    clerk = (await memory_conductor.view(info.id)).agents['tide_clerk']
    assert clerk['instructions'] == 'You know the tides.' and clerk['model'] == 'mock-1'
    assert parts(clerk) == [
        ('user', 'text', 'When is high water in Brest?'),
        ('assistant', 'call', 'tide'),
        ('tool', 'result', 'tide'),
        ('assistant', 'text', 'High water in Brest is at six.'),
    ]


@pytest.mark.parametrize('name', ['pydantic_ai', 'openai_agents', 'langgraph', 'vercel_ai'])
async def test_an_imported_trace_is_audited_compared_exported_and_recognized(
    conductor: Conductor, tmp_path: Path, name: str
) -> None:
    info = await import_recording(conductor, name)
    assert await conductor.audit(info.id) == info.seq
    assert (await conductor.compare(info.id, info.id)).same_path
    assert not await conductor.accepts(info.id)
    steps = await conductor.transitions(info.id)
    assert [step.time for step in steps] == sorted(step.time for step in steps)
    assert info.created <= steps[0].time and steps[-1].time == info.updated
    with (FOLDER / f'{name}.json').open('rb') as file:
        [imported] = await conductor.import_bundle(file)
    assert (imported.id, imported.outcome) == (info.id, 'known')
    bundle = b''.join([piece async for piece in conductor.export_bundle([info.id])])
    async with LocalConductor(workspaces=tmp_path / 'there') as other:
        [copied] = await other.import_bundle(io.BytesIO(bundle))
        assert copied.outcome == 'new' and await other.transitions(copied.id) == steps
        assert await other.audit(copied.id) == info.seq


async def test_an_altered_history_does_not_pass_the_audit(memory_conductor: Conductor) -> None:
    info = await import_recording(memory_conductor, 'langgraph')
    shape, steps = await memory_conductor.shape(info.id), await memory_conductor.transitions(info.id)
    alterations: list[tuple[int, dict[str, Any], str]] = [
        (6, {'active': steps[4].active}, 'active was'),
        (6, {'entered': ()}, 'left and entered were'),
        (6, {'edges': (replace(steps[6].edges[0], dest='editor'),)}, 'the chart has no edge writer → editor'),
        (6, {'edges': steps[13].edges, 'event': steps[13].event}, 'it leaves editor, which is not active'),
    ]
    for place_at, change, problem in alterations:
        altered = [*steps[:place_at], replace(steps[place_at], **change), *steps[place_at + 1 :]]
        with pytest.raises(Diverged, match=problem):
            audit_walk(info.id, shape, altered)


async def test_actions_that_need_a_pattern_are_refused_with_the_reason(memory_conductor: Conductor) -> None:
    info = await import_recording(memory_conductor, 'openai_agents')
    for action in (
        memory_conductor.fork(info.id, 3),
        memory_conductor.rerun(info.id),
        memory_conductor.start(info.pattern),
        memory_conductor.save_test(info.id),
    ):
        with pytest.raises(UnknownPattern, match='imported from a trace that another program recorded'):
            await action


async def test_names_with_meaning_in_charts_are_changed(memory_conductor: Conductor) -> None:
    run = await import_spans(
        memory_conductor,
        agent('done', '', (0, 9)),
        chat('c1', 'done', (0, 1)),
        agent('thinking', 'done', (1, 2)),
        agent('a.b/c', 'done', (3, 4)),
        agent('together', 'done', (5, 6)),
    )
    roles = {state.path: state.role for state in (await memory_conductor.shape(run)).states if state.role}
    assert roles == {
        'done_agent': 'done',
        'done_agent.thinking_agent': 'thinking',
        'done_agent.a_b_c': 'a.b/c',
        'done_agent.together_agent': 'together',
    }


async def test_overlapping_agents_of_one_name_are_regions(memory_conductor: Conductor) -> None:
    spans = [agent(f'worker-{n}', 'boss', (n, n + 1.5)) for n in range(4)]
    spans += [chat(f'c{n}', f'worker-{n}', (n, n + 1)) for n in range(4)]
    run = await import_spans(memory_conductor, agent('boss', '', (0, 9)), chat('c9', 'boss', (7, 8)), *spans)
    view = await memory_conductor.view(run)
    assert [(path, agent['visits']) for path, agent in view.agents.items()] == [
        ('boss', 1), ('boss.together.worker', 2), ('boss.together.worker_2', 2),
    ]  # fmt: skip
    assert await memory_conductor.audit(run)


async def test_failures_have_reasons_and_failed_attempts_are_retries(memory_conductor: Conductor) -> None:
    run = await import_spans(
        memory_conductor,
        agent('a', '', (0, 9), error='out of luck'),
        chat('c1', 'a', (0, 1), error='overloaded'),
        chat('c2', 'a', (1, 2)),
        tool('t', 'a', (2, 3), error='no such file'),
        chat('c3', 'a', (3, 4), error='the well is dry'),
    )
    info, steps = await memory_conductor.info(run), await memory_conductor.transitions(run)
    assert info.status is Status.FAILED and info.error == 'out of luck'
    assert [(step.event.name, step.event.data.get('error', '')) for step in steps] == [
        ('start', ''), ('retry', 'overloaded'), ('done', ''), ('done', ''), ('failed', 'out of luck'),
        ('failed', 'out of luck'),
    ]  # fmt: skip
    assert steps[3].event.data['results'][0]['text'] == 'no such file'
    assert (await memory_conductor.view(run)).agents['a']['problem'] == 'out of luck'
    assert info.usage.calls == 3
    assert await memory_conductor.audit(run) == len(steps)


async def test_traces_without_contents_keep_chart_times_and_tools(memory_conductor: Conductor) -> None:
    run = await import_spans(
        memory_conductor,
        agent('a', '', (0, 5)),
        chat('c1', 'a', (0, 1)),
        tool('look', 'a', (1, 2)),
        chat('c2', 'a', (2, 4)),
    )
    steps = await memory_conductor.transitions(run)
    assert [round(step.time - 1e9, 3) for step in steps] == [0, 1, 2, 4, 5]
    assert parts((await memory_conductor.view(run)).agents['a']) == [
        ('assistant', 'call', 'look'),
        ('tool', 'result', 'look'),
        ('assistant', 'text', '(The trace does not hold what was said.)'),
    ]


async def test_calls_without_an_agent_and_results_without_a_span(memory_conductor: Conductor) -> None:
    attributes = {
        'gen_ai.prompt.0.role': 'user',
        'gen_ai.prompt.0.content': 'How warm is it?',
        'gen_ai.completion.0.role': 'assistant',
        'gen_ai.completion.0.tool_calls.0.id': 'k1',
        'gen_ai.completion.0.tool_calls.0.name': 'weather',
        'gen_ai.completion.0.tool_calls.0.arguments': '{"place": "Oslo"}',
    }
    then = {name: value for name, value in attributes.items() if 'prompt' in name} | {
        'gen_ai.prompt.1.role': 'assistant',
        'gen_ai.prompt.1.tool_calls.0.id': 'k1',
        'gen_ai.prompt.1.tool_calls.0.name': 'weather',
        'gen_ai.prompt.2.role': 'tool',
        'gen_ai.prompt.2.tool_call_id': 'k1',
        'gen_ai.prompt.2.content': '4 degrees',
        'gen_ai.completion.0.content': 'Cold: 4 degrees.',
    }
    about: dict[str, Any] = {'llm.request.type': 'chat', 'gen_ai.usage.prompt_tokens': 5}
    run = await import_spans(
        memory_conductor,
        span('c1', '', (0, 1), **about, **attributes),
        span('c2', '', (3, 4), **about, **then),
    )
    assert await actives(memory_conductor, run) == [
        'agent.thinking', 'agent.using_tools', 'agent.thinking', 'agent.done', 'done',
    ]  # fmt: skip
    view = await memory_conductor.view(run)
    assert parts(view.agents['agent']) == [
        ('user', 'text', 'How warm is it?'),
        ('assistant', 'call', 'weather'),
        ('tool', 'result', 'weather'),
        ('assistant', 'text', 'Cold: 4 degrees.'),
    ]
    assert view.usage.input == 10 and (await memory_conductor.info(run)).title == 'How warm is it?'


async def test_a_repeated_conversation_is_not_duplicated(memory_conductor: Conductor) -> None:
    def make_input(*texts: str) -> dict[str, str]:
        return {
            names.INPUT_MESSAGES: json.dumps(
                [{'role': 'user', 'parts': [{'type': 'text', 'content': text}]} for text in texts]
            )
        }

    run = await import_spans(
        memory_conductor,
        agent('a', '', (0, 9)),
        chat('c1', 'a', (0, 1), **make_input('one'), **make_output('first')),
        chat('c2', 'a', (1, 2), **make_input('two', 'three'), **make_output('second')),
    )
    assert [text for _, _, text in parts((await memory_conductor.view(run, 1)).agents['a'])] == ['one']
    assert [text for _, _, text in parts((await memory_conductor.view(run)).agents['a'])] == [
        'two',
        'three',
        'second',
    ]


async def test_files_written_by_collectors_are_read(memory_conductor: Conductor) -> None:
    first = request_of(agent('a', '', (0, 3)))
    second = request_of({**chat('c', 'a', (1, 2), **make_output('Hello')), 'links': [], 'flags': 256})
    other = request_of({**chat('x', '', (1, 2)), 'traceId': 'cd' * 16})
    plain = request_of({**span('s', '', (1, 2)), 'traceId': 'ef' * 16})
    written: list[Any] = [{'resourceLogs': []}, first, second, other, plain]
    lines = codecs.BOM_UTF8 + b'\n'.join(json.dumps(line).encode() for line in written)
    imported_again = await memory_conductor.import_bundle(io.BytesIO(gzip.compress(lines)))
    assert [item.outcome for item in imported_again] == [
        'new',
        'new',
    ]  # nothing of generative AI is in the last
    assert (await memory_conductor.view(imported_again[0].id)).memory['answer'] == 'Hello'
    snake = json.dumps(first).replace('resourceSpans', 'resource_spans').replace('scopeSpans', 'scope_spans')
    [imported] = await memory_conductor.import_bundle(
        io.BytesIO(snake.replace('traceId', 'trace_id').encode())
    )
    assert imported.outcome == 'renamed'


async def test_messages_of_the_agent_development_kit_are_read(memory_conductor: Conductor) -> None:
    request = {
        'config': {'system_instruction': 'You greet.'},
        'contents': [{'role': 'user', 'parts': [{'text': 'hi'}]}],
    }
    call = {
        'role': 'model',
        'parts': [{'function_call': {'id': 'f1', 'name': 'hello', 'args': {'to': 'you'}}}],
    }
    answered = {
        'role': 'user',
        'parts': [{'function_response': {'id': 'f1', 'name': 'hello', 'response': {'result': 'Hello, you'}}}],
    }
    later = request | {'contents': [*request['contents'], call, answered]}
    keys = names.ADK_MESSAGES
    run = await import_spans(
        memory_conductor,
        span('agent_run [greeter]', '', (0, 9), **{'openinference.span.kind': 'AGENT'}),
        span(
            'call_llm', 'agent_run [greeter]', (0, 1),
            **{keys[0]: json.dumps(request), keys[1]: json.dumps({'content': call})},
        ),
        span(
            'call_llm_2', 'agent_run [greeter]', (2, 3),
            **{
                keys[0]: json.dumps(later),
                keys[1]: json.dumps({'content': {'role': 'model', 'parts': [{'text': 'I have greeted.'}]}}),
            },
        ),
    )  # fmt: skip
    greeter = (await memory_conductor.view(run)).agents['greeter']
    assert greeter['instructions'] == 'You greet.'
    assert [(kind, entry) for _, kind, entry in parts(greeter)] == [
        ('text', 'hi'), ('call', 'hello'), ('result', 'hello'), ('text', 'I have greeted.'),
    ]  # fmt: skip
    assert greeter['messages'][2]['parts'][0]['text'] == '{"result": "Hello, you"}'


async def test_spans_without_a_parent_belong_to_the_active_agent(memory_conductor: Conductor) -> None:
    run = await import_spans(
        memory_conductor,
        agent('remote', '', (0, 9)),
        agent('inner', 'never-sent', (1, 8)),
        chat('c', 'inner', (2, 3)),
        agent('later', 'never-sent', (10, 11)),
    )
    roles = {state.path: state.role for state in (await memory_conductor.shape(run)).states if state.role}
    assert roles == {'remote': 'remote', 'remote.inner': 'inner', 'later': 'later'}


async def test_nested_model_calls_are_counted_once(memory_conductor: Conductor) -> None:
    run = await import_spans(
        memory_conductor,
        agent('a', '', (0, 9)),
        chat('outer', 'a', (0, 4)),
        chat('inner', 'outer', (1, 2)),
        tool('look', 'outer', (2, 3)),
    )
    view = await memory_conductor.view(run)
    assert view.usage.calls == 1 and 'look' in [name for _, _, name in parts(view.agents['a'])]


async def test_an_agent_identified_only_by_name(memory_conductor: Conductor) -> None:
    run = await import_spans(
        memory_conductor,
        span('writer run', '', (0, 9), agent_name='writer', **{names.INPUT_TOKENS: '3'}),
        chat('c', 'writer run', (1, 2)),
    )
    info = await memory_conductor.info(run)
    assert info.models == {'writer': 'm'} and info.usage.calls == 1


SPANS = st.lists(
    st.tuples(
        st.sampled_from(['invoke_agent', 'invoke_workflow', 'chat', 'execute_tool', 'create_agent']),
        st.integers(-1, 12),
        st.integers(0, 6),
        st.integers(0, 6),
        st.sampled_from(['', '', 'boom']),
        st.sampled_from('ab'),
    ),
    min_size=1,
    max_size=12,
)


@given(SPANS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
async def test_any_tree_of_spans_is_drawn_audited_and_viewed_at_each_step(spans: list[Any]) -> None:
    generated = [
        span(
            str(number), str(parent) if parent >= 0 else '', (start, start + length), error,
            **{names.OPERATION: operation, names.AGENT: name, names.TOOL: name},
        )
        for number, (operation, parent, start, length, error, name) in enumerate(spans)
    ]  # fmt: skip
    async with LocalConductor() as conductor:
        try:
            run = await import_spans(conductor, *generated)
        except BundleError as error:
            assert 'no spans of generative AI' in str(error)
            return
        info = await conductor.info(run)
        assert info.status.ended and await conductor.audit(run) == info.seq
        for at in range(1, info.seq + 1):
            await conductor.view(run, at)
        assert (await conductor.view(run)).active in (('done',), ('failed',))
