"""Reads the spans of an OTLP/JSON file: one request, or one per line as collectors write them."""

from __future__ import annotations

import codecs
import json
import re
import threading
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, BinaryIO

import orjson
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from engine.errors import BundleError
from engine.history.bundle.format import decompress
from engine.history.traces.dialects import refuse_foreign, to_openinference, to_otlp

MAX_TRACE_BYTES = 64 << 20
"""Maximum bytes of a file, uncompressed; parsing takes about ten times as much memory."""
MAX_SPANS = 100_000
MAX_DEPTH = 20
"""Maximum nesting depth of an attribute's value."""
HEAD = 1 << 16
PRINTED = re.compile(rb'"trace_id": *"0x')
"""Matches spans as OpenTelemetry's SDK prints them: each over several lines, without anything in between."""
CONTENT = 'gen_ai.event.content'
"""The attribute of an event that holds its message: Semantic Kernel's, and ours for one read from a log."""
SPACE = re.compile(r'\s*')
TRACES = re.compile(
    rb'^\s*[\[{](?!\s*"(?:kind|hemicycle)").*"(?:resource_?[sS]pans|resource_?[lL]ogs|resource_?[mM]etrics|batches|'
    rb'observations|projectId|bookmarked|traceI[dD]|trace_id|run_type)"',
    re.S,
)
"""Matches the beginning of a trace file; collectors may write logs and metrics to the same file."""


def is_trace_file(file: BinaryIO) -> bool:
    """Return whether this looks like traces, ours or others', compressed or not; rewinds the file."""
    try:
        head = decompress(file).read(HEAD)
    except (OSError, EOFError, zlib.error):
        return False
    finally:
        file.seek(0)
    return TRACES.match(head.removeprefix(codecs.BOM_UTF8)) is not None


def _unwrap_value(value: Any, depth: int = 0) -> Any:
    """Unwrap an attribute's value, which OTLP wraps in its type."""
    if depth > MAX_DEPTH:
        raise ValueError('it is nested too deeply')
    if not isinstance(value, Mapping):
        return value
    for kind, held in value.items():
        match kind.replace('_', '').lower():
            case 'intvalue':
                return int(held)
            case 'arrayvalue':
                return [_unwrap_value(item, depth + 1) for item in (held or {}).get('values') or ()]
            case 'kvlistvalue':
                return _attributes((held or {}).get('values') or (), depth + 1)
            case _:
                return held
    return None


def _attributes(items: Any, depth: int = 0) -> dict[str, Any]:
    """Convert attributes, which OTLP lists as pairs, to a dictionary."""
    try:
        return {str(item['key']): _unwrap_value(item.get('value'), depth) for item in items or ()}
    except (TypeError, KeyError, AttributeError):
        raise ValueError('it is not a list of attributes: each has a key and a value') from None


Id = Annotated[str, Field(min_length=1, max_length=100)]
Nanoseconds = Annotated[int, Field(ge=0, lt=1 << 63)]
Attributes = Annotated[dict[str, Any], BeforeValidator(_attributes)]


def _default_for_null(empty: Any) -> BeforeValidator:
    return BeforeValidator(lambda value: empty if value is None else value)


class _Part(BaseModel):
    model_config = ConfigDict(extra='ignore', frozen=True)


class SpanEvent(_Part):
    """Something that happened in a span, such as an exception."""

    name: str = ''
    attributes: Attributes = {}


class SpanStatus(_Part):
    """How a span ended."""

    code: int | str = 0
    message: str = ''


def _field(*names: str, default: Any = ...) -> Any:
    return Field(default, validation_alias=AliasChoices(*names))


class Span(_Part):
    """A span: its name, its parent, its times and its attributes."""

    trace: Id = _field('traceId', 'trace_id')
    id: Id = _field('spanId', 'span_id')
    parent: Annotated[str, _default_for_null('')] = _field('parentSpanId', 'parent_span_id', default='')
    name: Annotated[str, _default_for_null('')] = ''
    began: Nanoseconds = _field('startTimeUnixNano', 'start_time_unix_nano')
    ended: Nanoseconds = _field('endTimeUnixNano', 'end_time_unix_nano', default=0)
    attributes: Annotated[Attributes, AfterValidator(to_openinference)] = {}
    events: Annotated[list[SpanEvent], _default_for_null([])] = []
    status: Annotated[SpanStatus, _default_for_null({})] = SpanStatus()
    service: str = ''
    """The service that sent it."""

    @property
    def start(self) -> float:
        """When it began, in seconds since 1970."""
        return self.began / 1e9

    @property
    def end(self) -> float:
        """When it ended; a span without an end ends as it begins."""
        return max(self.began, self.ended) / 1e9

    @property
    def error(self) -> str:
        """The error message, or '' if the span did not fail."""
        raised = [event.attributes for event in self.events if event.name == 'exception']
        message = next(
            (
                str(attributes['exception.message'])
                for attributes in raised
                if attributes.get('exception.message')
            ),
            '',
        )
        kind = next(
            (str(attributes['exception.type']) for attributes in raised if attributes.get('exception.type')),
            '',
        )
        if self.status.code not in (2, 'STATUS_CODE_ERROR', 'ERROR'):
            return ''
        return self.status.message or message or kind or str(self.attributes.get('error.type') or 'it failed')


class _Scope(_Part):
    name: Annotated[str, _default_for_null('')] = ''


class _ScopeSpans(_Part):
    scope: Annotated[_Scope, _default_for_null({})] = _field(
        'scope', 'instrumentationLibrary', default=_Scope()
    )
    spans: Annotated[list[Span], _default_for_null([])] = []


class _Resource(_Part):
    attributes: Attributes = {}


class _ResourceSpans(_Part):
    resource: Annotated[_Resource, _default_for_null({})] = _Resource()
    scopes: Annotated[list[_ScopeSpans], _default_for_null([])] = _field(
        'scopeSpans', 'scope_spans', 'instrumentationLibrarySpans', default=[]
    )


class _Request(_Part):
    resources: Annotated[list[_ResourceSpans], _default_for_null([])] = _field(
        'resourceSpans', 'resource_spans', 'batches', default=[]
    )
    logs: Any = _field('resourceLogs', 'resource_logs', default=None)


class SpanReader:
    """Reads one file.

    Args:
        file: open at its beginning; compressed or not.
        progress: called with the bytes read so far, from another thread than the event loop's.
    """

    def __init__(self, file: BinaryIO, progress: Callable[[int], None] = lambda read: None) -> None:
        self._file, self._progress = file, progress
        self._count = 0
        self._logged: defaultdict[tuple[str, str], list[SpanEvent]] = defaultdict(list)
        self.scopes: dict[str, None] = {}
        """What recorded the spans."""
        self.stop = threading.Event()
        """Set to abort reading once nobody is waiting for the result."""

    def read(self) -> list[Span]:
        """Read all spans, in the file's order. Blocks. Raises `BundleError`, which names the field."""
        try:
            raw = decompress(self._file).read(MAX_TRACE_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            raise BundleError(0, 'the file is damaged or was cut off') from None
        if len(raw) > MAX_TRACE_BYTES:
            raise BundleError(0, f'a file of traces may hold {MAX_TRACE_BYTES >> 20} MiB at most')
        self._progress(self._file.tell())
        spans = [span for number, request in _requests(raw) for span in self._spans(number, request)]
        return [
            span.model_copy(update={'events': [*span.events, *logged]})
            if (logged := self._logged.get((span.trace, span.id)))
            else span
            for span in spans
        ]

    def _spans(self, number: int, request: Any) -> Iterator[Span]:
        if self.stop.is_set():
            return
        try:
            read = _Request.model_validate(to_otlp(request) or request)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            problem = first['msg'].removeprefix('Value error, ')
            raise BundleError(number, problem, field='.'.join(map(str, first['loc']))[:200]) from None
        except RecursionError:
            raise BundleError(number, 'it is nested too deeply') from None
        if not read.resources and read.logs is None:
            refuse_foreign(request)
        for key, event in _messages_of_logs(read.logs):
            self._logged[key].append(event)
        for resource in read.resources:
            self.scopes.update({scope.scope.name: None for scope in resource.scopes if scope.scope.name})
            service = str(resource.resource.attributes.get('service.name') or '')
            for span in (span for scope in resource.scopes for span in scope.spans):
                self._count += 1
                if self._count > MAX_SPANS:
                    raise BundleError(number, f'at most {MAX_SPANS:,} spans')
                yield span.model_copy(update={'service': service})


def _messages_of_logs(logs: Any) -> Iterator[tuple[tuple[str, str], SpanEvent]]:
    """Yield the messages that logs hold, with the trace and the span of each; other logs are ignored."""
    for record in _inner(_inner(_inner([{'resourceLogs': logs}], 'resourceLogs'), 'scopeLogs'), 'logRecords'):
        try:
            about = _attributes(record.get('attributes'))
            name = str(record.get('eventName') or about.get('event.name') or '')
            if name.startswith('gen_ai.'):
                attributes = [
                    {'key': CONTENT, 'value': record.get('body')},
                    *(record.get('attributes') or ()),
                ]
                event = SpanEvent.model_validate({'name': name, 'attributes': attributes})
                yield (str(record.get('traceId')), str(record.get('spanId'))), event
        except ValueError:
            continue


def _inner(items: Iterable[Any], name: str) -> Iterator[Any]:
    for item in items:
        held = item.get(name) if isinstance(item, Mapping) else None
        yield from (inner for inner in held if isinstance(inner, Mapping)) if isinstance(held, list) else ()


def _printed(raw: bytes) -> Iterator[Any]:
    text, at = raw.decode('utf-8', 'replace').strip(), 0
    while at < len(text):
        try:
            document, end = json.JSONDecoder().raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            raise BundleError(0, f'it is not JSON: {error}') from None
        yield document
        space = SPACE.match(text, end)
        at = space.end() if space else end


def _requests(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the requests of a file, each with its line number; 0 if the file is a single document."""
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        whole = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if PRINTED.search(raw[:HEAD]):
            yield from ((0, request) for request in _printed(raw))
            return
        if b'\n' not in raw.strip():
            raise BundleError(0, f'it is not JSON: {error}') from None
    else:
        yield from ((0, request) for request in (whole if isinstance(whole, list) else [whole]))
        return
    for number, line in enumerate(raw.splitlines(), 1):
        if line.strip():
            try:
                yield number, orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise BundleError(number, f'it is not JSON: {error}') from None
