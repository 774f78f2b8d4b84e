"""Traces: a run's tree of spans, their attributes, and their delivery."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from engine import Conductor, LocalConductor, Status, ToolContext, agent, tool
from engine.errors import ToolError
from engine.history.traces import attributes
from engine.journal import MemoryJournal, usage_from_dict
from engine.records import RunId, parent_of, split_pointer
from tests.support.harness import FakeModel, Lone, calls, catalog, in_turn
from ui.server.observed_journal import observe
from ui.server.telemetry import ADDRESSES, CONTENTS, trace_exporters
from ui.server.telemetry.exporter import TraceExporter
from ui.server.telemetry.spans import SpanBuilder

TASK = 'Compare tea and coffee'


class SpanKeeper(SpanExporter):
    """Keeps the exported spans."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS


async def spans_of(conductor: Conductor, run: RunId, *, contents: bool = False) -> list[ReadableSpan]:
    builder = SpanBuilder(
        await conductor.info(run), await conductor.shape(run), Resource({}), contents=contents
    )
    steps = await conductor.transitions(run)
    return [*(span for step in steps for span in builder.add(step)), *builder.end()]


def read(span: ReadableSpan, name: str) -> object:
    assert span.attributes is not None
    return span.attributes.get(name)


async def test_a_run_is_a_tree_of_workflow_agents_and_calls() -> None:
    async with LocalConductor() as conductor:
        run = await conductor.start('supervisor', objective=TASK, max_tasks=2)
        await run.result()
        info, spans = await run.info(), await spans_of(conductor, run.id)
    by_id = {span.context.span_id: span for span in spans}
    (root,) = (span for span in spans if span.parent is None)
    assert root is spans[-1] and root.name == 'invoke_workflow supervisor'
    assert read(root, attributes.RUN) == info.id and read(root, attributes.STATUS) == 'done'
    assert len(by_id) == len(spans) and len({span.context.trace_id for span in spans}) == 1
    for span in spans:
        assert span.start_time is not None and span.end_time is not None
        assert span.start_time <= span.end_time
        if span.parent:
            around = by_id[span.parent.span_id]
            assert around.start_time <= span.start_time and span.end_time <= around.end_time  # type: ignore[operator]

    kinds = Counter(read(span, attributes.OPERATION) for span in spans)
    assert kinds['invoke_workflow'] == 1 and kinds['chat'] == info.usage.calls and kinds['execute_tool'] >= 2
    chats = [span for span in spans if read(span, attributes.OPERATION) == 'chat']
    tools = [span for span in spans if read(span, attributes.OPERATION) == 'execute_tool']
    for span in chats:
        assert span.parent and read(by_id[span.parent.span_id], attributes.OPERATION) == 'invoke_agent'
        assert span.name == 'chat scripted' and read(span, attributes.SIMULATED) is True
    for span in tools:
        assert span.parent
        using = by_id[span.parent.span_id]
        assert using.parent and read(by_id[using.parent.span_id], attributes.OPERATION) == 'invoke_agent'
        assert span.name == f'execute_tool {read(span, attributes.TOOL)}'
    for name, total in (
        (attributes.INPUT_TOKENS, info.usage.input),
        (attributes.OUTPUT_TOKENS, info.usage.output),
    ):
        assert sum(int(str(read(span, name))) for span in chats) == total


def as_file(spans: Sequence[ReadableSpan]) -> io.BytesIO:
    """Return the spans as OTLP/JSON, in which ids are hexadecimal."""
    request = MessageToDict(encode_spans(spans))
    for span in (item for r in request['resourceSpans'] for s in r['scopeSpans'] for item in s['spans']):
        for name in ('traceId', 'spanId', 'parentSpanId'):
            if name in span:
                span[name] = base64.b64decode(span[name]).hex()
    return io.BytesIO(json.dumps(request).encode())


@pytest.mark.parametrize(
    ('pattern', 'parameters'),
    [
        ('pipeline', {'task': TASK}),
        ('supervisor', {'objective': TASK, 'max_tasks': 2}),
        ('parallel-review', {'task': TASK}),
    ],
)
async def test_an_exported_trace_can_be_imported_again(pattern: str, parameters: dict[str, Any]) -> None:
    async with LocalConductor() as conductor:
        run = await conductor.start(pattern, parameters)
        await run.result()
        spans = await spans_of(conductor, run.id, contents=True)
        [imported] = await conductor.import_bundle(as_file(spans))
        before, after = await run.info(), await conductor.info(imported.id)
        assert after.id != before.id and after.pattern == f'trace:{pattern}'
        assert (after.title, after.status, after.simulated) == (before.title, before.status, True)
        assert after.usage == before.usage and after.created == pytest.approx(before.created)
        assert await conductor.audit(after.id) == after.seq
        ours, theirs = [await replies(conductor, one) for one in (before.id, after.id)]
        assert ours and theirs == ours
        durations = [await tasks(conductor, one) for one in (before.id, after.id)]
        assert durations[0] and durations[1] == durations[0]


async def replies(conductor: Conductor, run: RunId) -> list[Any]:
    """Return who said what with which model, tool results and times, sorted: parallel work has no order."""
    spans = [
        (
            round(step.time, 3),
            step.event.data.get('role') or (await conductor.shape(run)).state(parent_of(step.event.at)).role,  # type: ignore[union-attr]
            step.event.data.get('model', ''),
            json.dumps(step.event.data.get('message') or step.event.data.get('results'), sort_keys=True),
            usage_from_dict(step.event.data),
        )
        for step in await conductor.transitions(run)
        if {'message', 'results'} & set(step.event.data)
    ]
    return sorted(spans, key=lambda one: (one[0], one[3]))


async def tasks(conductor: Conductor, run: RunId) -> set[str]:
    """Return the prompts in the steps that started agents' visits."""
    messages, drawn = (
        set(),
        (await conductor.info(run)).is_imported_trace,
    )  # regions are entered before they start
    for step in await conductor.transitions(run):
        for change in step.changes:
            where, value = split_pointer(change.path), change.value
            if where[0] == 'agents' and isinstance(value, dict) and (drawn or where[1] in step.entered):
                for message in value.get('messages', [value]):
                    if message.get('role') == 'user':
                        messages.add(message['parts'][0]['text'])
    return messages


async def test_trace_ids_are_stable_and_differ_for_forks() -> None:
    async with LocalConductor() as conductor:
        run = await conductor.start('pipeline', task=TASK)
        await run.result()
        fork = await conductor.fork(run.id, at=5)
        await conductor.result(fork)
        first, second, other = [await spans_of(conductor, one) for one in (run.id, run.id, fork)]
    assert [span.to_json() for span in first] == [span.to_json() for span in second]
    assert not {span.context.trace_id for span in first} & {span.context.trace_id for span in other}
    assert read(other[-1], attributes.PARENT) == run.id and read(first[-1], attributes.PARENT) is None


@tool()
async def broken(context: ToolContext, word: str) -> str:
    """Fail."""
    raise ToolError(f'no {word} here')


class WithTool(Lone):
    """An agent that may call the tool."""

    states = [agent('working', prompt='ask', tools=('broken',)), *Lone.states[1:]]


async def spans_with_tool(contents: bool) -> list[ReadableSpan]:
    """Return the spans of an agent that calls a tool, which fails, and then answers."""
    model = FakeModel(in_turn(calls(('broken', {'word': 'secret'})), 'the secret answer'))
    async with LocalConductor(catalog=catalog(model, WithTool, tools=(broken,))) as conductor:
        run = await conductor.start(WithTool, title='their task')
        await run.result()
        return await spans_of(conductor, run.id, contents=contents)


async def test_a_failed_tool_marks_only_its_span() -> None:
    spans = await spans_with_tool(contents=False)
    failed = [span for span in spans if not span.status.is_ok and span.status.status_code.name == 'ERROR']
    assert [span.name for span in failed] == ['execute_tool broken']


async def test_spans_hold_no_content_unless_configured() -> None:
    quiet = ''.join(span.to_json() for span in await spans_with_tool(contents=False))
    assert 'secret' not in quiet and 'their task' not in quiet
    spans = await spans_with_tool(contents=True)
    assert any('the secret answer' in str(read(span, attributes.OUTPUT_MESSAGES)) for span in spans)
    assert any('no secret here' in str(read(span, attributes.TOOL_RESULT)) for span in spans)


async def test_a_failed_run_records_the_reason() -> None:
    model = FakeModel(ValueError('the well is dry'))
    async with LocalConductor(catalog=catalog(model, Lone)) as conductor:
        run = await conductor.start(Lone)
        assert (await run.result()).status is Status.FAILED
        spans = await spans_of(conductor, run.id)
    assert spans[-1].status.description and 'the well is dry' in spans[-1].status.description
    assert any(span.name.startswith('chat') and span.status.status_code.name == 'ERROR' for span in spans)


async def test_the_trace_of_each_run_that_ends_is_sent_once_and_before_the_journal_closes() -> None:
    journal, span_keeper = MemoryJournal(), SpanKeeper()
    traces = TraceExporter(journal, span_keeper)
    async with LocalConductor(observe(journal, traces)) as conductor:
        runs = [await conductor.start('pipeline', task=TASK) for _ in range(3)]
        for run in runs:
            await run.result()
        paused = await conductor.start('pipeline', task=TASK, paused=True)
    roots = [span for span in span_keeper.spans if span.parent is None]
    assert sorted(str(read(span, attributes.RUN)) for span in roots) == sorted(run.id for run in runs)
    assert paused.id not in {read(span, attributes.RUN) for span in roots}


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """An OTLP receiver over HTTP: its address, and the requests that it received."""
    got: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers['Content-Length']))
            if self.headers.get('Content-Encoding') == 'gzip':
                body = gzip.decompress(body)
            assert self.path == '/v1/traces'
            got.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header('Content-Length', '0')
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01})
    thread.start()
    yield f'http://127.0.0.1:{server.server_port}', got
    server.shutdown()
    thread.join()
    server.server_close()


async def test_traces_are_sent_over_otlp(
    receiver: tuple[str, list[ExportTraceServiceRequest]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, got = receiver
    journal = MemoryJournal()
    monkeypatch.setenv(ADDRESSES[0], url)
    monkeypatch.setenv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test')
    async with LocalConductor(observe(journal, *trace_exporters(journal))) as conductor:
        run = await conductor.start('pipeline', task=TASK)
        await run.result()
        expected = await spans_of(conductor, run.id)
    (resource,) = (resource_span for request in got for resource_span in request.resource_spans)
    about = {item.key: item.value.string_value for item in resource.resource.attributes}
    assert about['service.name'] == 'hemicycle' and about['deployment.environment.name'] == 'test'
    spans = [span for scope in resource.scope_spans for span in scope.spans]
    assert [span.name for span in spans] == [span.name for span in expected]
    assert spans[0].span_id == expected[0].context.span_id.to_bytes(8)


async def test_a_refusing_receiver_is_logged_and_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Refusing(SpanKeeper):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return SpanExportResult.FAILURE

    journal = MemoryJournal()
    async with LocalConductor(observe(journal, TraceExporter(journal, Refusing()))) as conductor:
        run = await conductor.start('pipeline', task=TASK)
        assert (await run.result()).status is Status.DONE
    assert f'run {run.id}: its trace was not accepted' in caplog.text


def test_nothing_is_sent_without_a_receiver() -> None:
    journal = MemoryJournal()
    assert trace_exporters(journal, {CONTENTS: 'true', ADDRESSES[0]: ' '}) == []
