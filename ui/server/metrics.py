"""Metrics in Prometheus format: activity and usage of runs, and the load of the process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from engine import Conductor, Status, Transition
from engine.journal import usage_from_dict
from engine.models import CallTiming
from engine.records import RunId, RunInfo, RunQuery
from ui.server.observed_journal import JournalObserver

MEDIA: Final = 'text/plain; version=0.0.4; charset=utf-8'
LAG_SECONDS: Final = 0.25
"""Seconds between two measurements of event loop lag."""
TOKENS: Final = ('input', 'output', 'cached', 'written', 'reasoning')
CALL_BUCKETS: Final = (0.1, 0.3, 1, 3, 10, 30, 60, 100, 300, 1000)
COMMIT_BUCKETS: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
LAG_BUCKETS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)


class Metrics(JournalObserver):
    """The metrics of one server; times are in seconds."""

    def __init__(self) -> None:
        self._began: dict[RunId, float] = {}
        self.registry = CollectorRegistry()
        PlatformCollector(self.registry)
        ProcessCollector(registry=self.registry)
        registry = self.registry
        self.runs = Gauge('hemicycle_runs', 'Runs in the database, by status.', ['status'], registry=registry)
        self.steps = Counter('hemicycle_steps', 'Steps journaled.', ['pattern'], registry=registry)
        self.ended = Counter(
            'hemicycle_ended_runs', 'Runs that ended.', ['pattern', 'status'], registry=registry
        )
        self.commits = Histogram(
            'hemicycle_commit_seconds',
            'Time to make a step durable, including waiting for the writer.',
            buckets=COMMIT_BUCKETS,
            registry=registry,
        )
        self.waiting_commits = Gauge(
            'hemicycle_waiting_commits', 'Steps waiting to become durable.', registry=registry
        )
        self.refused = Counter(
            'hemicycle_failed_commits', 'Steps that could not be stored.', registry=registry
        )
        self.calls = Counter('hemicycle_model_calls', 'Model calls.', ['model'], registry=registry)
        self.call_seconds = Histogram(
            'hemicycle_model_call_seconds',
            'Time from sending a request to the end of its response, for each attempt.',
            ['model', 'outcome'],
            buckets=CALL_BUCKETS,
            registry=registry,
        )
        self.endpoint_calls = Gauge(
            'hemicycle_endpoint_calls',
            "Current calls, running or waiting for the endpoint's limits.",
            ['endpoint', 'state'],
            registry=registry,
        )
        self.tokens = Counter(
            'hemicycle_tokens', 'Tokens used by models, by kind.', ['model', 'kind'], registry=registry
        )
        self.dollars = Counter(
            'hemicycle_dollars', 'Cost of models, in US dollars.', ['model'], registry=registry
        )
        self.questions = Gauge(
            'hemicycle_open_questions', 'Questions waiting for a person, in any run.', registry=registry
        )
        self.notifications = Gauge(
            'hemicycle_waiting_notifications',
            'Notifications still to be sent by this server.',
            registry=registry,
        )
        self.lag = Histogram(
            'hemicycle_event_loop_lag_seconds',
            'Event loop lag.',
            buckets=LAG_BUCKETS,
            registry=registry,
        )

    def begin(self, info: RunInfo) -> None:
        """Start timing an append."""
        self.waiting_commits.inc()
        self._began[info.id] = time.perf_counter()

    def refuse(self, info: RunInfo, error: BaseException) -> None:
        """Count a failed append."""
        self._stop(info)
        self.refused.inc()

    def record(self, info: RunInfo, transitions: Sequence[Transition]) -> None:
        """Count steps that were written to disk."""
        self.commits.observe(self._stop(info))
        self.steps.labels(info.pattern).inc(len(transitions))
        for step in transitions:
            for model, usage in usage_from_dict(step.event.data).items():
                self.calls.labels(model).inc(usage.calls)
                self.dollars.labels(model).inc(usage.dollars)
                for kind in TOKENS:
                    self.tokens.labels(model, kind).inc(getattr(usage, kind))
        if info.status.ended:
            self.ended.labels(info.pattern, info.status).inc()

    def measure_call(self, timing: CallTiming) -> None:
        """Record a finished attempt at a model call."""
        self.call_seconds.labels(timing.model, timing.outcome).observe(max(0.0, timing.seconds))

    def _stop(self, info: RunInfo) -> float:
        """Return the seconds that an append took. A run has only one at a time."""
        self.waiting_commits.dec()
        return time.perf_counter() - self._began.pop(info.id)

    async def measure_lag(self) -> None:
        """Measure event loop lag, forever."""
        while True:
            due = time.perf_counter() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self.lag.observe(max(0.0, time.perf_counter() - due))

    async def render(self, conductor: Conductor) -> bytes:
        """Render all metrics as text. Raises `JournalError` if the runs cannot be counted."""
        for status in Status:
            page = await conductor.runs(RunQuery(status=(status,), limit=1))
            self.runs.labels(status).set(page.total)
        self.endpoint_calls.clear()  # Removes endpoints that are no longer configured.
        for endpoint, calls in conductor.catalog.registry.call_counts.items():
            self.endpoint_calls.labels(endpoint, 'waiting').set(calls.waiting)
            self.endpoint_calls.labels(endpoint, 'running').set(calls.running)
        return generate_latest(self.registry)
