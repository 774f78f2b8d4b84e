"""Traces of other frameworks as runs: OpenTelemetry spans, converted to a chart and steps."""

from engine.history.traces import attributes

__all__ = ['attributes']
