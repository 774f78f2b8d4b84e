"""Metrics in the format of Prometheus: what runs do and spend, and how busy the process is."""

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
"""Seconds between two measurements of how late the event loop is."""
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
            'hemicycle_waiting_commits', 'Steps that wait to become durable.', registry=registry
        )
        self.refused = Counter('hemicycle_failed_commits', 'Steps that could not be kept.', registry=registry)
        self.calls = Counter('hemicycle_model_calls', 'Calls of models.', ['model'], registry=registry)
        self.call_seconds = Histogram(
            'hemicycle_model_call_seconds',
            'Time from sending a request to the end of its answer, for each attempt.',
            ['model', 'outcome'],
            buckets=CALL_BUCKETS,
            registry=registry,
        )
        self.endpoint_calls = Gauge(
            'hemicycle_endpoint_calls',
            "Calls now, running or waiting for the endpoint's limits.",
            ['endpoint', 'state'],
            registry=registry,
        )
        self.tokens = Counter(
            'hemicycle_tokens', 'Tokens that models used, by kind.', ['model', 'kind'], registry=registry
        )
        self.dollars = Counter(
            'hemicycle_dollars', 'What models cost, in US dollars.', ['model'], registry=registry
        )
        self.questions = Gauge(
            'hemicycle_open_questions', 'Questions that wait for a person, in any run.', registry=registry
        )
        self.notifications = Gauge(
            'hemicycle_waiting_notifications',
            'Notifications that have still to be sent by this server.',
            registry=registry,
        )
        self.lag = Histogram(
            'hemicycle_event_loop_lag_seconds',
            'How late the event loop is.',
            buckets=LAG_BUCKETS,
            registry=registry,
        )

    def begin(self, info: RunInfo) -> None:
        """An append begins."""
        self.waiting_commits.inc()
        self._began[info.id] = time.perf_counter()

    def refuse(self, info: RunInfo, error: BaseException) -> None:
        """It failed."""
        self._stop(info)
        self.refused.inc()

    def keep(self, info: RunInfo, transitions: Sequence[Transition]) -> None:
        """Count steps that are on disk."""
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
        """Count an attempt at a model call that has ended."""
        self.call_seconds.labels(timing.model, timing.outcome).observe(max(0.0, timing.seconds))

    def _stop(self, info: RunInfo) -> float:
        """The seconds that an append took. A run has one at a time."""
        self.waiting_commits.dec()
        return time.perf_counter() - self._began.pop(info.id)

    async def measure_lag(self) -> None:
        """Measure how late the event loop is, forever."""
        while True:
            due = time.perf_counter() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self.lag.observe(max(0.0, time.perf_counter() - due))

    async def render(self, conductor: Conductor) -> bytes:
        """All metrics as text. Raises `JournalError` if the runs cannot be counted."""
        for status in Status:
            page = await conductor.runs(RunQuery(status=(status,), limit=1))
            self.runs.labels(status).set(page.total)
        self.endpoint_calls.clear()  # Endpoints that are no longer configured go.
        for endpoint, calls in conductor.catalog.registry.call_counts.items():
            self.endpoint_calls.labels(endpoint, 'waiting').set(calls.waiting)
            self.endpoint_calls.labels(endpoint, 'running').set(calls.running)
        return generate_latest(self.registry)
