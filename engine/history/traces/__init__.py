"""Traces of other frameworks as runs: OpenTelemetry spans, drawn as a chart with steps."""

from engine.history.traces import attributes

__all__ = ['attributes']
