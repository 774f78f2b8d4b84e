"""Descriptions of patterns for callers: parameter schemas, the main parameter, and agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import Catalog, Pattern
from engine.agents import AgentInfo, agents_of
from engine.records import Fault, RunInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternInfo:
    """A pattern as callers see it."""

    name: str
    title: str
    summary: str
    version: str
    """What its code or text hashes to."""
    family: str
    """The heading under which it is listed, or ''."""
    parameters: Mapping[str, Any]
    """The JSON Schema of its parameters."""
    inputs: Mapping[str, Any]
    """The JSON Schema of the data of each event that people can send, by event."""
    roles: tuple[AgentInfo, ...] = ()
    """Its agents, one per role."""
    answer: str = ''
    """The memory field with the result, or ''."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternList:
    """All patterns, and the files that could not be loaded."""

    patterns: tuple[PatternInfo, ...] = ()
    faults: tuple[Fault, ...] = ()


def describe_pattern(pattern: type[Pattern]) -> PatternInfo:
    """Return a pattern's record for the API and the command line: its texts, roles and parameters."""
    return PatternInfo(
        name=pattern.name,
        title=pattern.title,
        summary=' '.join(pattern.summary.split()),
        version=pattern.version,
        family=pattern.family,
        parameters=pattern.Parameters.model_json_schema(),
        inputs={name: model.model_json_schema() for name, model in pattern.inputs.items()},
        roles=agents_of(pattern),
        answer=pattern.answer,
    )


def describe_patterns(catalog: Catalog) -> PatternList:
    """Return the records of all patterns, sorted by name, and the files that failed to load."""
    described = tuple(describe_pattern(catalog.patterns[name]) for name in sorted(catalog.patterns))
    return PatternList(patterns=described, faults=tuple(catalog.faults))


def version_name(catalog: Catalog, pattern: str, version: str) -> str:
    """Return a version as people read it: `3 (0a1b2c3d4e5f)`; without its number if it has none here."""
    number = catalog.charts.number(pattern, version) if catalog.charts else 0
    return f'{number} ({version})' if number else version


def version_text(catalog: Catalog, info: RunInfo) -> str:
    """Return the version of its pattern that a run was started with, and whether it is still here."""
    if not info.version:
        return 'version unknown'
    name = f'version {version_name(catalog, info.pattern, info.version)}'
    pattern, today = catalog.find_of(info), catalog.find(info.pattern)
    if pattern is None or pattern.version != info.version:
        return f'{name}, which is gone; today it is {today.version}' if today else f'{name}, which is gone'
    return f'{name}, not the current one' if pattern is not today else name


def main_parameter(schema: Mapping[str, Any]) -> str:
    """Return the parameter behind `--task`: the first multi-line one, else the first required, or any.

    Args:
        schema: the JSON Schema of a pattern's parameters.

    Returns:
        Its name, or '' if no parameter is a text.
    """
    texts = {
        name: field for name, field in schema.get('properties', {}).items() if field.get('type') == 'string'
    }
    required = schema.get('required', [])
    ranked = sorted(texts, key=lambda name: (not texts[name].get('multiline'), name not in required))
    return ranked[0] if ranked else ''
