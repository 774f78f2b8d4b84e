"""Recordings: stored with the run, replayed offline, forked, truncated at a crash, deleted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from engine import Catalog, Conductor, InvalidInput, LocalConductor, Memory, Status, Transition
from engine.agents.chart import agent
from engine.configuration import Configuration
from engine.journal import MemoryJournal
from engine.models.endpoint import Endpoint
from engine.models.recording.exchange import read_exchanges
from engine.models.registry import ModelRegistry
from engine.operations.experiments import Experiment, ScorerSpec, Variant, case_of
from engine.records import Launch, RunId
from tests.models.reading import ChunkedBody
from tests.models.speech import OpenAISpeech, openai
from tests.support.harness import (
    ENDS,
    FakeModel,
    HastyClock,
    Lone,
    catalog,
    complete_run,
    first_steps,
    to_the_end,
)
from tests.unit.engine.agents.test_agent_chart import SEEN, good

KEY = 'k-very-secret-1234'
FAR = 'far/m'
speech = OpenAISpeech()


class Pair(Lone):
    """Two agents side by side, each of which uses a tool."""

    initial = 'both'
    answer = 'said'
    states = [
        {
            'name': 'both',
            'parallel': [agent(name, prompt='ask', then='keep', tools=('good',)) for name in ('one', 'two')],
        },
        *ENDS,
    ]
    transitions = [['done', 'both', 'over'], ['failed', 'both', 'lost']]

    class Memory(Memory):
        said: list[str] = []

    def keep(self, memory: Any, event: Any) -> None:
        memory.said.append(event.data['text'])


class Provider:
    """Answers over HTTP: first a tool call, then the number of the request; or fails."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails = 0
        self.gate: asyncio.Event | None = None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if self.fails:
            self.fails -= 1
            refusal = speech.refusal(f'Busy, {KEY}', 'overloaded_error')
            return httpx.Response(529, content=refusal, headers={'content-type': 'application/json'})
        number = self.asked
        if self.gate:
            await self.gate.wait()
        messages = orjson.loads(request.content)['messages']
        function = {'name': 'good', 'arguments': '{"text": "x"}'}
        call = {'index': 0, 'id': f'theirs-{number}', 'function': function}
        done = messages[-1]['role'] == 'tool' or 'tools' not in orjson.loads(request.content)
        content = (
            speech.say(f'answer {number}') if done else openai(choices=[{'delta': {'tool_calls': [call]}}])
        )
        body = speech.start + content + speech.stop + speech.report_usage(3) + speech.end
        headers = {'content-type': 'text/event-stream'}
        return httpx.Response(200, headers=headers, stream=ChunkedBody([body[:40], body[40:]]))


def make_catalog(provider: Any) -> Catalog:
    own_catalog = catalog(FakeModel(), Lone, Pair, tools=(good,))
    endpoint = Endpoint(name='far', url='http://far.example/v1', key=KEY, query={'team': KEY})
    settings = Configuration(endpoints={'far': endpoint} if provider else {})
    own_catalog.registry = ModelRegistry(
        own_catalog.models, settings, transport=lambda endpoint: httpx.MockTransport(provider)
    )
    return own_catalog


class Place:
    """A journal and a folder that several conductors use in turn."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.journal, self.provider = folder, MemoryJournal(), Provider()

    def open(self, *, offline: bool = False, catalog: Catalog | None = None) -> Conductor:
        SEEN.clear()
        return LocalConductor(
            self.journal,
            catalog=catalog or make_catalog(None if offline else self.provider),
            clock=HastyClock(),
            owner='me',
            workspaces=self.folder,
        )

    def recording(self, run: RunId) -> Path:
        return self.folder / run / 'recording.jsonl'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def sources(steps: list[Transition]) -> set[str]:
    return {step.event.data['source'] for step in steps if 'source' in step.event.data}


async def test_a_recorded_run_replays_without_network_or_key(place: Place) -> None:
    place.provider.fails = 1
    async with place.open() as online:
        first = (await online.start('pair', models={'': FAR}, record=True)).id
        expected_outcome = await online.result(first)
        assert expected_outcome.status is Status.DONE and place.provider.asked == 5
        assert sources(await online.transitions(first)) == {'live'}
    assert KEY not in place.recording(first).read_text('utf-8')
    async with place.open(offline=True) as offline:
        run = (await offline.start('pair', replay=first)).id
        outcome = await offline.result(run)
        assert (outcome.status, sorted(outcome.answer)) == (Status.DONE, sorted(expected_outcome.answer)), (
            outcome.error
        )
        steps = await offline.transitions(run)
        assert sources(steps) == {'replayed'}
        assert any(step.event.name == 'retry' for step in steps)
        info = await offline.info(run)
        assert (info.models, info.simulated, info.options) == ({'': FAR}, False, {'replay': first})
        assert not any('cost' in step.event.data for step in steps)
        assert await offline.audit(run)
    assert place.provider.asked == 5


async def test_an_experiment_answers_from_journals_and_from_exchanges_what_was_asked_otherwise(
    place: Place,
) -> None:
    experiment = Experiment(
        name='Pairs',
        dataset='pairs',
        base=Launch(pattern='pair'),
        variants=(Variant(name='as it is'),),
        scorers=(ScorerSpec(name='done', kind='status'),),
        recorded=True,
    )
    async with place.open() as online:
        handles = [
            await online.start('pair', models={'': FAR}, record=recorded) for recorded in (True, False)
        ]
        outcomes = [await online.result(handle.id) for handle in handles]
        infos = [await online.info(handle.id) for handle in handles]
        cases = [case_of(info, outcome.answer) for info, outcome in zip(infos, outcomes, strict=True)]
    async with place.open(offline=True) as offline:
        await offline.datasets.save('pairs', cases)
        result = await offline.experiment(experiment)
        assert [(cell.status, cell.scores['done'].value) for cell in result.cells] == [(Status.DONE, 1)] * 2
        for cell in result.cells:
            assert all(step.event.played for step in await offline.transitions(cell.run) if not step.raised)
        others = (*experiment.variants, Variant(name='brief', change={'instructions': {'one': 'Be brief.'}}))
        asking = replace(experiment, variants=others)
        with pytest.raises(InvalidInput, match=f'case {cases[1].id} were given to other instructions'):
            await offline.experiments.plan(asking)
        await offline.datasets.save('pairs', cases[:1])
        same, brief = (await offline.experiment(asking)).cells
        assert same.status is Status.DONE and same.error == ''
        assert brief.status is Status.FAILED and 'Be brief.' in brief.error
        assert (await offline.info(brief.run)).options['replay'] == cases[0].source


async def test_a_scripted_run_is_recorded_and_replayed_in_the_same_way(place: Place) -> None:
    own_catalog = Catalog.load()
    for model in own_catalog.models.values():
        model.pace = 0  # type: ignore[attr-defined]
    task = {'task': 'Should a small team adopt event sourcing for its order system?'}
    async with place.open(catalog=own_catalog) as conductor:
        first = (await conductor.start('pipeline', task, record=True)).id
        outcome = await to_the_end(conductor, first)
        own_catalog.models.clear()  # Without models, only the recording can answer.
        run = (await conductor.start('pipeline', replay=first)).id
        assert (await to_the_end(conductor, run)).memory == outcome.memory
        assert (await conductor.info(run)).simulated
        assert sources(await conductor.transitions(run)) == {'replayed'}


async def test_a_miss_names_the_difference_and_is_not_retried(place: Place) -> None:
    async with place.open() as conductor:
        first = await complete_run(conductor, 'lone', models={'': FAR}, record=True)
        place.recording(first).write_text(
            place.recording(first).read_text('utf-8').replace('do it', 'do that')
        )
        await conductor.result(run := (await conductor.start('lone', replay=first)).id)
        # That replay succeeded: the edit changed only the readable body, not the request's key.
        place.recording(first).write_bytes(
            b''.join(
                orjson.dumps({**orjson.loads(line), 'key': 'other'}) + b'\n'
                for line in place.recording(first).read_bytes().splitlines()
            )
        )
        missed = await conductor.result((await conductor.start('lone', replay=first)).id)
        assert (await conductor.info(run)).status is Status.DONE
        assert missed.status is Status.FAILED
        assert f'the recording of run {first} has no answer (left) to this request' in missed.error
        assert "recorded 'do that', asked 'do it'" in missed.error
        unknown = await conductor.result(
            (await conductor.start('lone', models={'': 'near/x'}, replay=first)).id
        )
        assert "it has no calls of 'near/x'; it has calls of: far/m" in unknown.error
        assert place.provider.asked == 1


async def test_a_call_interrupted_by_a_crash_is_repeated_and_recorded_once(place: Place) -> None:
    conductor = place.open()
    first = await complete_run(conductor, 'lone', models={'': FAR}, record=True)
    # As if the process had died between the answer and its step: only the answer is recorded.
    steps = (await place.journal.info(first)).seq
    journal = await first_steps(place.journal, first, steps - 2)
    with place.recording(first).open('ab') as file:
        file.write(b'{"torn": ')
    place.journal = journal
    async with place.open() as later:
        assert await later.recover() == [first]
        assert (await later.result(first)).status is Status.DONE
        assert place.provider.asked == 2
        assert len(read_exchanges(place.recording(first))) == 1
        run = await complete_run(later, 'lone', replay=first)
        steps = await later.transitions(run)
        assert [step.event.data['text'] for step in steps if 'text' in step.event.data] == ['answer 2']
    await conductor.workspaces.close()


async def test_a_fork_inherits_earlier_recordings(place: Place) -> None:
    async with place.open() as conductor:
        first = await complete_run(conductor, 'pair', models={'': FAR}, record=True)
        steps = await conductor.transitions(first)
        seqs = [step.seq for step in steps if step.event.data.get('text') == '']
        fork = await conductor.fork(first, seqs[0])
        expected_outcome = await conductor.result(fork)
        assert place.provider.asked == 4 + 3
        assert len(read_exchanges(place.recording(fork))) == 4
        outcome = await conductor.result((await conductor.start('pair', replay=fork)).id)
        assert sorted(outcome.answer) == sorted(expected_outcome.answer) != []
        assert place.provider.asked == 7


async def test_a_fork_of_a_replay_goes_live(place: Place) -> None:
    async with place.open() as conductor:
        first = await complete_run(conductor, 'lone', models={'': FAR}, record=True)
        run = await complete_run(conductor, 'lone', replay=first)
        fork = await conductor.fork(run, 1)
        await conductor.result(fork)
        assert 'replay' not in (await conductor.info(fork)).options
        assert sources((await conductor.transitions(fork))[1:]) == {'live'}


async def test_a_recording_is_deleted_with_its_run_and_a_replay_keeps_its_own(place: Place) -> None:
    async with place.open() as conductor:
        first = await complete_run(conductor, 'lone', models={'': FAR}, record=True)
        run = (await conductor.start('lone', replay=first)).id
        await conductor.delete(first)
        await conductor.purge(first)
        assert not place.recording(first).exists()
        assert (await conductor.result(run)).status is Status.DONE
        await conductor.delete(run)
        await conductor.purge(run)
        assert list(place.folder.iterdir()) == []


@pytest.mark.parametrize(
    ('pattern', 'options', 'says'),
    [
        ('lone', {'replay': 'plain'}, 'has no recording; it was not started with `record`'),
        ('pair', {'replay': 'kept'}, 'has the pattern lone, not pair'),
        ('lone', {'replay': 'kept', 'record': True}, 'a replay cannot be recorded'),
        ('lone', {'record': 'yes'}, 'record: Input should be a valid boolean'),
    ],
)
async def test_runs_without_a_recording_cannot_be_replayed(
    place: Place, pattern: str, options: dict[str, Any], says: str
) -> None:
    async with place.open() as conductor:
        runs = {
            'plain': (await conductor.start('lone', models={'': FAR})).id,
            'kept': (await conductor.start('lone', models={'': FAR}, record=True)).id,
        }
        for run in runs.values():
            await conductor.result(run)
        named = {name: runs.get(value, value) for name, value in options.items()}
        with pytest.raises(InvalidInput, match=says):
            await conductor.start(pattern, **named)


async def test_unrecorded_runs_store_no_replies(place: Place) -> None:
    async with place.open() as conductor:
        await conductor.result(run := (await conductor.start('lone', models={'': FAR})).id)
        assert not place.recording(run).exists()
