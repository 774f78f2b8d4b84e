"""Charts in a fleet: what a web server saves, workers run, each run in its own version."""

from __future__ import annotations

import httpx
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import Fleet, launch

pytestmark = [pytest.mark.slow, pytest.mark.long]
SQLITE = True
TEXT = """chart: ask
initial: asking
roles: {{writer: {{instructions: {instructions}}}}}
states:
  asking: {{agent: writer, prompt: Say hello.}}
  done: {{final: true}}
  failed: {{final: true, outcome: failed}}
transitions:
  - {{on: done, from: asking, to: done}}
  - {{on: failed, from: asking, to: failed}}
  - {{on: expired, from: asking, to: failed}}
"""


async def test_a_worker_takes_runs_of_versions_that_are_saved_while_it_runs(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    worker = await fleet.worker()
    base, runs = '', list[str]()
    for instructions in ('Be short.', 'Be polite.'):
        text = TEXT.format(instructions=instructions)
        saved = await web.put('charts/ask', json={'text': text, 'base': base})
        base = saved.raise_for_status().json()['version']
        runs.append(await launch(web, pattern='ask'))
    await fleet.wait_for_end(runs, reader)
    infos = [await reader.info(RunId(run)) for run in runs]
    assert {info.status for info in infos} == {Status.DONE}
    assert {info.owner.partition('#')[0] for info in infos} == {worker.url}
    assert infos[0].version != infos[1].version == base
