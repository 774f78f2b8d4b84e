"""Traces in other forms than OTLP, and formats that are only recognized, to say what a file is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from engine.errors import BundleError
from engine.history.traces import attributes as names

PREFIX: Final = 'langfuse.observation.'
KINDS: Final = {
    'GENERATION': 'LLM',
    'SPAN': 'CHAIN',
    'CHAIN': 'CHAIN',
    'AGENT': 'AGENT',
    'TOOL': 'TOOL',
    'RETRIEVER': 'RETRIEVER',
    'EMBEDDING': 'EMBEDDING',
    'GUARDRAIL': 'GUARDRAIL',
    'EVALUATOR': 'EVALUATOR',
    'EVENT': 'EVENT',
}
"""OpenInference's kinds by the types of observations; an event is none of generative AI."""
FOREIGN: Final = {
    'traceID': "Jaeger's JSON",
    'localEndpoint': "Zipkin's JSON",
    'run_type': 'a run of LangSmith',
    'bookmarked': 'an export of Langfuse without observations',
}
"""What a document is that has this field, itself or in one of its first entries."""
READ: Final = 'what is read is OTLP/JSON, and what Langfuse, Phoenix and console exporters write as JSON'


def to_openinference(about: dict[str, Any]) -> dict[str, Any]:
    """Return a span's attributes; those of Langfuse's SDK also by OpenInference's names.

    The tokens of a model call, of which only the provider's answer tells, get their names, too.
    """
    kind = KINDS.get(str(about.get(f'{PREFIX}type')).upper())
    if kind is None:
        if about.get(names.OPENINFERENCE_KIND) != 'LLM' or names.TOKENS['input'][2] in about:
            return about
        answer = _parse(about.get('output.value'))
        return {'llm.model_name': answer.get('model'), **read_usage(_mapping(answer.get('usage'))), **about}
    usage = read_usage(_parse(about.get(f'{PREFIX}usage_details')))
    costs = _parse(about.get(f'{PREFIX}cost_details'))
    known = {
        names.OPENINFERENCE_KIND: kind,
        'input.value': _unwrap_arguments(about.get(f'{PREFIX}input')),
        'output.value': about.get(f'{PREFIX}output'),
        'llm.model_name': about.get(f'{PREFIX}model.name'),
        'llm.cost.total': costs.get('total', sum(filter(_is_number, costs.values())) or None),
        **usage,
    }
    return {name: value for name, value in known.items() if value is not None} | about


def read_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token counts of a provider's or Langfuse's usage by OpenInference's names."""
    flat = dict(usage)
    for name in ('prompt', 'input', 'completion', 'output'):
        flat.update(_mapping(usage.get(f'{name}_tokens_details')))
    counts = {
        'llm.token_count.prompt': _first(flat, 'prompt_tokens', 'input_tokens', 'promptTokens'),
        'llm.token_count.completion': _first(flat, 'completion_tokens', 'output_tokens', 'completionTokens'),
        names.TOKENS['cached'][-1]: _first(
            flat, 'cached_tokens', 'cache_read_input_tokens', 'input_cached_tokens', 'input_cache_read'
        ),
        names.TOKENS['written'][-1]: _first(flat, 'cache_creation_input_tokens', 'input_cache_creation'),
        'llm.token_count.completion_details.reasoning': _first(
            flat, 'reasoning_tokens', 'output_reasoning_tokens', 'output_reasoning'
        ),
    }
    for name, key in (('input', 'llm.token_count.prompt'), ('output', 'llm.token_count.completion')):
        if counts[key] is None and _is_number(usage.get(name)):
            counts[key] = sum(  # Langfuse counts cached and reasoning tokens apart.
                value
                for detail, value in usage.items()
                if _is_number(value) and (detail == name or detail.startswith(f'{name}_'))
            )
    return {name: value for name, value in counts.items() if value is not None}


def to_otlp(document: Any) -> dict[str, Any] | None:
    """Return spans in another form as an OTLP request; None if it is none that is known.

    These are observations of Langfuse, a page of them or a trace with its own; spans as OpenTelemetry's SDK
    prints them, and those that Phoenix exports, or a page of these.
    """
    held: list[Any] = [document]
    trace: Mapping[str, Any] = {}
    if isinstance(document, Mapping):
        lists = (document.get(name) for name in ('observations', 'data'))
        held = next((items for items in lists if isinstance(items, list)), held)
        trace = _mapping(document.get('trace', document))
    for is_known, convert in ((_is_observation, _from_langfuse), (_is_printed, _from_printed)):
        if held and all(map(is_known, held)):
            spans = [convert(item, trace) for item in held]
            return {'resourceSpans': [{
                'resource': {'attributes': _pairs(_mapping(held[0].get('resource')).get('attributes'))},
                'scopeSpans': [{'spans': spans}],
            }]}  # fmt: skip
    return None


def refuse_foreign(document: Any) -> None:
    """Raise `BundleError`, which names the format, for a document in another one."""
    held = document
    for _ in range(4):
        if isinstance(held, Mapping):
            if what := next((FOREIGN[name] for name in FOREIGN if name in held), ''):
                raise BundleError(0, f'it is {what}; {READ}')
            held = next((value for value in held.values() if isinstance(value, list)), None)
        held = held[0] if isinstance(held, list) and held else None


def _is_observation(item: Any) -> bool:
    return isinstance(item, Mapping) and 'startTime' in item and str(item.get('type')).upper() in KINDS


def _from_langfuse(item: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, Any]:
    details = {
        'type': item['type'],
        'input': _text(item.get('input')),
        'output': _text(item.get('output')),
        'model.name': _first(item, 'model', 'providedModelName'),
        'usage_details': _text(_first(item, 'usageDetails', 'usage')),
        'cost_details': _text(
            item.get('costDetails') or {'total': _first(item, 'totalCost', 'calculatedTotalCost')}
        ),
    }
    is_failed = item.get('level') == 'ERROR'
    return {
        'traceId': item.get('traceId') or trace.get('id'),
        'spanId': item.get('id'),
        'parentSpanId': item.get('parentObservationId'),
        'name': item.get('name'),
        'startTimeUnixNano': _nanoseconds(item['startTime']),
        'endTimeUnixNano': _nanoseconds(item.get('endTime') or item['startTime']),
        'attributes': _pairs({f'{PREFIX}{name}': value for name, value in details.items()}),
        'status': {'code': 2, 'message': item.get('statusMessage') or ''} if is_failed else {},
    }


def _is_printed(item: Any) -> bool:
    context = item.get('context') if isinstance(item, Mapping) else None
    return isinstance(context, Mapping) and 'trace_id' in context and 'start_time' in item


def _from_printed(item: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    status = _mapping(item.get('status'))
    events = item['events'] if isinstance(item.get('events'), list) else []
    kind = {names.OPENINFERENCE_KIND: item['span_kind']} if 'span_kind' in item else {}
    return {
        'traceId': item['context']['trace_id'],
        'spanId': item['context'].get('span_id'),
        'parentSpanId': item.get('parent_id'),
        'name': item.get('name'),
        'startTimeUnixNano': _nanoseconds(item['start_time']),
        'endTimeUnixNano': _nanoseconds(item.get('end_time') or item['start_time']),
        'attributes': _pairs(kind | dict(_flatten('', _mapping(item.get('attributes'))))),
        'events': [
            {'name': event.get('name'), 'attributes': _pairs(event.get('attributes'))}
            for event in map(_mapping, events)
        ],
        'status': {
            'code': item.get('status_code') or status.get('status_code') or 0,
            'message': item.get('status_message') or status.get('description') or '',
        },
    }


def _pairs(about: Any) -> list[dict[str, Any]]:
    return [{'key': name, 'value': value} for name, value in _mapping(about).items()]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested attributes by their dotted names, as OTLP has them."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        inner = enumerate(value)
    else:
        yield name, value
    for key, held in inner:
        yield from _flatten(f'{name}.{key}' if name else str(key), held)


def _nanoseconds(value: Any) -> Any:
    """Return a time in nanoseconds; what is no time stays, so that its field is named in the error."""
    try:
        return round(datetime.fromisoformat(value).timestamp() * 1e6) * 1_000
    except (TypeError, ValueError):
        return value


def _unwrap_arguments(value: Any) -> Any:
    """Return the arguments of a decorated function without Python's wrapping; a single one alone."""
    held = _parse(value)
    if held.keys() != {'args', 'kwargs'} or not isinstance(held['args'], list):
        return value
    if not held['args']:
        return _text(held['kwargs'])
    return value if held['kwargs'] or held['args'][1:] else _text(held['args'][0])


def _parse(value: Any) -> Mapping[str, Any]:
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        parsed = None
    return _mapping(parsed)


def _text(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _first(about: Mapping[str, Any], *keys: str) -> Any:
    return next((about[key] for key in keys if about.get(key) is not None), None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
