"""Monitoring: health, metrics, and a machine-readable log."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from asgi_correlation_id import CorrelationIdMiddleware
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from engine import LocalConductor
from engine.errors import JournalUnavailable, ModelError
from engine.host.clock import SimulatedClock
from engine.journal import MemoryJournal
from engine.models import ModelRegistry
from engine.models.http.endpoint_settings import EndpointSettings
from engine.records import RunPage, RunQuery
from storage import Settings, open_journal
from storage.sqlite.database import SqliteDatabase
from storage.sqlite.file import limit_size
from tests.models.reading import endpoint, make_request
from tests.models.speech import OpenAISpeech
from tests.support.harness import turns, until
from tests.support.journals.limited_space import limit_file_size
from ui.app.access.access import Access
from ui.app.backend import Backend
from ui.app.services.notifications import Destination
from ui.server import metrics, monitoring
from ui.server.logs import PrivateFileHandler, RunLog, is_request_id, json_formatter, set_up_logging
from ui.server.metrics import Metrics
from ui.server.monitoring import monitoring_routes
from ui.server.observed_journal import observe


class BreakableJournal(MemoryJournal):
    """A journal whose database can become unavailable."""

    is_gone = False

    async def runs(self, query: RunQuery) -> RunPage:
        if self.is_gone:
            raise JournalUnavailable('the disk is gone')
        return await super().runs(query)


class Served:
    """A server's monitoring, and the conductor behind it."""

    def __init__(self) -> None:
        self.journal, self.metrics, self.backend = BreakableJournal(), Metrics(), Backend()
        self.app = Starlette(routes=monitoring_routes(self.backend, self.metrics))
        self.conductor = LocalConductor(observe(self.journal, RunLog(), self.metrics))
        transport = httpx.ASGITransport(app=CorrelationIdMiddleware(self.app, validator=is_request_id))
        self.client = httpx.AsyncClient(transport=transport, base_url='http://localhost')

    async def samples(self) -> dict[tuple[str, ...], float]:
        """Return the samples of /metrics by name and sorted label values."""
        text = (await self.client.get('/metrics')).text
        return {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    services = Served()
    async with services.client, services.conductor:
        yield services


async def test_a_server_is_alive_before_it_is_ready(served: Served) -> None:
    assert (await served.client.get('/healthz')).json() == {'status': 'ok'}
    waiting = await served.client.get('/readyz')
    assert (waiting.status_code, waiting.json()) == (503, {'status': 'starting'})
    assert (await served.client.get('/metrics')).status_code == 503

    served.backend.open(served.conductor)
    ready = await served.client.get('/readyz')
    assert (ready.status_code, ready.json()) == (200, {'status': 'ok', 'stranded': 0})


async def test_without_its_database_a_server_is_not_ready(served: Served) -> None:
    served.backend.open(served.conductor)
    served.journal.is_gone = True
    ready = await served.client.get('/readyz')
    assert (ready.status_code, ready.json()['reason']) == (503, 'the disk is gone')
    served.backend.open(served.conductor, Access(served.journal.documents, served.conductor.clock))
    assert (await served.client.get('/readyz')).json() == {'status': 'unavailable'}  # anybody may ask
    assert (await served.client.get('/metrics')).status_code == 503
    assert (await served.client.get('/healthz')).status_code == 200


async def test_with_a_full_disk_a_server_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitoring, 'PROBE_SECONDS', 0.0)
    journal, backend = await open_journal(Settings(database=tmp_path / 'runs.db')), Backend()
    transport = httpx.ASGITransport(app=Starlette(routes=monitoring_routes(backend, Metrics())))
    client = httpx.AsyncClient(transport=transport, base_url='http://localhost')
    async with LocalConductor(journal, workspaces=tmp_path / 'files') as conductor, client:
        backend.open(conductor)
        assert isinstance(journal.database, SqliteDatabase)
        await journal.database._writer.do(lambda connection: limit_size(connection, 1))
        full = await client.get('/readyz')
        assert full.status_code == 503 and 'free some space' in full.json()['reason']
        await journal.database._writer.do(lambda connection: limit_size(connection, None))
        with limit_file_size(4_096):
            full = await client.get('/readyz')
        assert (full.status_code, full.json()['reason']) == (503, 'files cannot be written: File too large')
        assert (await client.get('/readyz')).status_code == 200


async def test_steps_tokens_and_endings_are_counted(served: Served) -> None:
    served.backend.open(served.conductor)
    run = await served.conductor.start('pipeline', task='Compare tea and coffee')
    await run.result()
    info, samples = await run.info(), await served.samples()
    assert samples['hemicycle_steps_total', 'pipeline'] == info.seq
    assert samples['hemicycle_ended_runs_total', 'done', 'pipeline'] == 1
    assert samples['hemicycle_runs', 'done'] == 1
    assert samples['hemicycle_runs', 'running'] == 0
    assert samples['hemicycle_model_calls_total', 'scripted'] == info.usage.calls
    for kind in ('input', 'output'):
        assert samples['hemicycle_tokens_total', kind, 'scripted'] == getattr(info.usage, kind) > 0
    assert 0 < samples[('hemicycle_commit_seconds_count',)] <= info.seq
    assert samples[('hemicycle_waiting_commits',)] == 0
    assert samples[('process_open_fds',)] > 0


async def test_open_questions_and_unsent_messages_are_counted(served: Served) -> None:
    served.backend.open(served.conductor)
    assert (await served.samples())[('hemicycle_open_questions',)] == 0
    run = await served.conductor.start('pipeline', task='Compare tea and coffee', approvals='all')
    async for _ in turns():
        if (await run.info()).waiting:
            break
    notifications = served.backend.root_services.notifications
    hook = Destination(name='Team', channel='webhook', address='http://127.0.0.1:1/hook')
    team = await notifications.destinations.add(hook)
    await notifications.destinations.change(team.id, paused=True)
    await notifications.test(team.id)
    samples = await served.samples()
    assert samples[('hemicycle_open_questions',)] == 1
    assert samples[('hemicycle_waiting_notifications',)] == 1
    await notifications._dispatcher.close()


async def test_endpoint_calls_are_timed_and_counted_while_running_and_waiting(served: Served) -> None:
    served.backend.open(served.conductor)
    clock, gate, answers = SimulatedClock(), asyncio.Event(), [200, 500]
    speech = OpenAISpeech()
    body = speech.start + speech.say('x') + speech.stop + speech.report_usage(3) + speech.end

    async def answer(request: httpx.Request) -> httpx.Response:
        await gate.wait()
        await clock.advance(2)
        status = answers.pop(0)
        return httpx.Response(status, headers={'content-type': 'text/event-stream'}, content=body)

    registry = served.conductor.catalog.registry = ModelRegistry(
        {},
        EndpointSettings(endpoints={'paid': replace(endpoint(at_once=1), name='paid')}),
        transport=lambda endpoint: httpx.MockTransport(answer),
        clock=clock,
    )
    registry.hooks.measure = served.metrics.measure_call

    async def ask() -> None:
        with contextlib.suppress(ModelError):
            async for _ in registry['paid/m'].stream(make_request()):
                pass

    calls = [asyncio.create_task(ask()) for _ in range(3)]
    await until(lambda: registry.call_counts['paid'].waiting == 2)
    samples = await served.samples()
    assert samples['hemicycle_endpoint_calls', 'paid', 'running'] == 1
    assert samples['hemicycle_endpoint_calls', 'paid', 'waiting'] == 2

    calls[2].cancel()
    gate.set()
    await asyncio.wait(calls)
    samples = await served.samples()
    for outcome in ('ok', 'failed'):
        assert samples['hemicycle_model_call_seconds_count', outcome, 'paid/m'] == 1
        assert samples['hemicycle_model_call_seconds_sum', outcome, 'paid/m'] == 2
    assert ('hemicycle_model_call_seconds_count', 'cancelled', 'paid/m') not in samples
    assert samples['hemicycle_endpoint_calls', 'paid', 'running'] == 0
    assert samples['hemicycle_endpoint_calls', 'paid', 'waiting'] == 0
    await registry.close()


async def test_the_lag_of_the_event_loop_is_measured(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, 'LAG_SECONDS', 0.0)
    measuring = asyncio.create_task(served.metrics.measure_lag())
    lag = served.metrics.registry.get_sample_value
    await until(lambda: (lag('hemicycle_event_loop_lag_seconds_count') or 0) > 2)
    measuring.cancel()


@pytest.fixture
def logged(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The path of a log file, in JSON by default."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    set_up_logging(tmp_path, getattr(request, 'param', 'json'))
    yield tmp_path / 'hemicycle.log'
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)


async def test_one_id_links_request_run_and_log(served: Served, logged: Path) -> None:
    served.backend.open(served.conductor)

    async def launch(request: object) -> object:
        from starlette.responses import PlainTextResponse

        run = await served.conductor.start('pipeline', task='Compare tea and coffee')
        await run.result()
        return PlainTextResponse(run.id)

    served.app.add_route('/launch-for-a-test', launch)
    answer = await served.client.get('/launch-for-a-test', headers={'X-Request-ID': 'deploy-7:42'})
    assert answer.headers['X-Request-ID'] == 'deploy-7:42'
    assert logged.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in logged.read_text().splitlines()]
    ours = [line for line in lines if line.get('run') == answer.text]
    assert [line['level'] for line in ours] == ['INFO', 'INFO']
    assert 'start' in ours[0]['message'] and ours[0]['step'] == 1
    assert 'is done' in ours[1]['message']
    assert {line['request'] for line in ours} == {'deploy-7:42'}


def test_a_log_on_a_full_disk_says_so_on_one_line(
    logged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, 'No space left on device')

    [file] = [handler for handler in logging.getLogger().handlers if isinstance(handler, PrivateFileHandler)]
    monkeypatch.setattr(file, 'stream', Full())
    file.handle(logging.makeLogRecord({'msg': 'it broke'}))
    assert capsys.readouterr().err == f'hemicycle: {logged}: No space left on device\n'


@pytest.mark.parametrize('logged', ['text'], indirect=True)
def test_no_text_can_forge_a_log_event(logged: Path) -> None:
    forged = '\n2026-01-01 00:00:00,000 INFO    hemicycle: run x is done\x1b[31m'
    log = logging.getLogger('hemicycle')
    log.error('it broke: %s', forged)
    try:
        raise ValueError(forged)
    except ValueError:
        log.exception('it broke again')
    lines = logged.read_text().split('\n')
    assert [line[24:45] for line in lines if line[:1].isdigit()] == ['ERROR   hemicycle: it'] * 2
    assert lines[2].startswith('    Traceback') and '\x1b' not in ''.join(lines)


@pytest.mark.parametrize('text', ['', 'a b', 'x' * 129, 'new\nline', 'é'])
def test_an_id_that_could_forge_a_line_is_replaced(text: str) -> None:
    assert not is_request_id(text)


def test_a_json_line_holds_the_traceback() -> None:
    try:
        raise ValueError('two\nlines')
    except ValueError as error:
        record = logging.LogRecord(
            'hemicycle',
            logging.ERROR,
            __file__,
            1,
            'run %s broke',
            ('a1',),
            (ValueError, error, error.__traceback__),
        )
    line = json_formatter().format(record)
    assert '\n' not in line
    data = json.loads(line)
    assert data['message'] == 'run a1 broke' and data['level'] == 'ERROR'
    assert 'two\nlines' in data['exc_info']
    assert data['time'].endswith('+00:00')
