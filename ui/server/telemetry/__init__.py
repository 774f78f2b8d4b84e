"""Runs as OpenTelemetry traces, following the GenAI conventions; off until configured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from engine.journal import Journal

if TYPE_CHECKING:
    from ui.server.telemetry.exporter import TraceExporter

ADDRESSES: Final = ('OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
"""OpenTelemetry's standard variables; unless one is set, nothing is sent."""
CONTENTS: Final = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'


def trace_exporters(journal: Journal, environment: Mapping[str, str] = os.environ) -> list[TraceExporter]:
    """Return the exporters configured by the environment: one to an OTLP receiver, or none."""
    if not any(environment.get(name, '').strip() for name in ADDRESSES):
        return []
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # Slow to import.

    from ui.server.telemetry.exporter import TraceExporter

    contents = environment.get(CONTENTS, '').strip().lower() == 'true'
    return [TraceExporter(journal, OTLPSpanExporter(), contents=contents)]
