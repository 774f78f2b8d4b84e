"""Kinds of spans: agents, model calls, tool calls, and parts of a workflow around them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from engine.history.traces import attributes as names
from engine.history.traces.messages import first_of
from engine.history.traces.otlp import Span
from engine.records import Usage
from engine.records.usage import SOURCES


class Kind(StrEnum):
    """The kind of thing a span represents."""

    GROUP = 'group'
    """A part of the workflow; an agent if it calls models directly."""
    AGENT = 'agent'
    CHAT = 'chat'
    TOOL = 'tool'
    NONE = ''
    """Not related to generative AI: a request, a query."""


OPERATIONS: Final[Mapping[str, Kind]] = {
    'invoke_workflow': Kind.GROUP,
    'invoke_agent': Kind.AGENT,
    'chat': Kind.CHAT,
    'text_completion': Kind.CHAT,
    'generate_content': Kind.CHAT,
    'completion': Kind.CHAT,
    'chat.completions': Kind.CHAT,  # Semantic Kernel, in .NET
    'text.completions': Kind.CHAT,
    'execute_tool': Kind.TOOL,
    'embeddings': Kind.TOOL,
    'retrieval': Kind.TOOL,
    'create_agent': Kind.NONE,
}
OPENINFERENCE: Final[Mapping[str, Kind]] = {
    'AGENT': Kind.AGENT,
    'CHAIN': Kind.GROUP,
    'LLM': Kind.CHAT,
    'TOOL': Kind.TOOL,
    'RETRIEVER': Kind.TOOL,
    'RERANKER': Kind.TOOL,
    'EMBEDDING': Kind.TOOL,
    'GUARDRAIL': Kind.TOOL,
    'EVALUATOR': Kind.TOOL,
}
TRACELOOP: Final[Mapping[str, Kind]] = {
    'workflow': Kind.GROUP,
    'task': Kind.GROUP,
    'agent': Kind.AGENT,
    'tool': Kind.TOOL,
}
VERCEL: Final[Mapping[str, Kind]] = {
    'ai.generateText': Kind.AGENT,
    'ai.streamText': Kind.AGENT,
    'ai.generateObject': Kind.AGENT,
    'ai.streamObject': Kind.AGENT,
    'ai.generateText.doGenerate': Kind.CHAT,
    'ai.streamText.doStream': Kind.CHAT,
    'ai.generateObject.doGenerate': Kind.CHAT,
    'ai.streamObject.doStream': Kind.CHAT,
    'ai.toolCall': Kind.TOOL,
}


OPERATION_BEFORE = re.compile(r'(?:invoke_agent|invoke_workflow|agent_run|invocation)\b(?:\s*\[(.+)\]|(.*))')


def classify_span(span: Span) -> Kind:
    """Classify a span by the convention it follows."""
    about = span.attributes
    for name, table in (
        (names.VERCEL_KIND, VERCEL),
        (names.TRACELOOP_KIND, TRACELOOP),  # before the operation, since it distinguishes graphs from agents
        (names.OPERATION, OPERATIONS),
        (names.OPENINFERENCE_KIND, OPENINFERENCE),
    ):
        if (kind := table.get(str(about.get(name, '')))) is not None:
            return kind
    if names.TOOL in about:
        return Kind.TOOL
    if any(name in about for name in names.AGENT_NAMES):
        return Kind.AGENT
    request_attributes = (names.REQUEST_TYPE, *names.TOKENS['input'], *names.ADK_MESSAGES)
    return Kind.CHAT if any(name in about for name in request_attributes) else Kind.NONE


def agent_name(span: Span) -> str:
    """Return the name of a span's agent."""
    name = first_of(span.attributes, (*names.AGENT_NAMES, names.ENTITY))
    return ' '.join(str(name or _bare(span.name) or 'agent').split())[:60]


def workflow_name(span: Span) -> str:
    """Return the name of the workflow whose outermost span this is."""
    about = span.attributes
    own = about.get(names.WORKFLOW) or about.get('traceloop.workflow.name')
    if own is None and classify_span(span) is Kind.AGENT:
        own = agent_name(span)
    name = own or about.get(names.ENTITY) or _bare(span.name) or span.service
    return ' '.join(str(name).split())[:60] or 'trace'


def _bare(name: str) -> str:
    """Strip the operation from a span's name: `agent_run [writer]` becomes `writer`."""
    match = OPERATION_BEFORE.fullmatch(name)
    return (match[1] or match[2] or '').strip() if match else name


def tool_name(span: Span) -> str:
    """Return the name of a span's tool."""
    name = first_of(span.attributes, names.TOOLS) or span.name.removeprefix('execute_tool').strip()
    return str(name)[:200] or 'tool'


def model_name(span: Span) -> str:
    """Return the model that answered, or ''."""
    return str(first_of(span.attributes, names.MODELS) or '')[:200]


def usage_of(span: Span) -> Usage:
    """Return the tokens and dollars of one call."""
    about = span.attributes
    counts = {name: _count(first_of(about, keys)) for name, keys in names.TOKENS.items()}
    is_reported = any(first_of(about, names.TOKENS[name]) is not None for name in ('input', 'output'))
    dollars = first_of(about, names.COSTS)
    priced = isinstance(dollars, int | float) and dollars >= 0
    return Usage(
        **counts,
        calls=1,
        source=SOURCES[0] if is_reported else SOURCES[-1],
        dollars=float(dollars) if priced else 0.0,
        unpriced=0 if priced or about.get(names.SIMULATED) is True else 1,
    )


def _count(value: object) -> int:
    try:
        return max(0, int(str(value or 0).partition('.')[0]))
    except ValueError:
        return 0
