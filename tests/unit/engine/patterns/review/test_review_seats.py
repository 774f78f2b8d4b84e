"""Seats outside debates: a reviewer's during the first review, and a coder's."""

from __future__ import annotations

import asyncio

import pytest

from engine import EventRefused, InvalidInput
from tests.support.harness import FakeModel, to_the_end, until, wait_for_state
from tests.support.teams.parallel_review import BEST, actors, begin, everybody, review_conductor


async def test_a_seat_is_taken_during_the_first_review_and_handed_back():
    script = everybody(BEST)
    hold = asyncio.Event()
    waits = iter([hold])
    script['reviewing.reviewer1.reading'] = lambda request: next(waits, BEST)
    model = FakeModel(actors(script))
    async with review_conductor(model) as conductor:
        run = await begin(conductor, coders=2, max_revisions=0)
        await wait_for_state(conductor, run, 'reviewing.reviewer1.reading.thinking')
        await until(lambda: model.running == 1)
        await conductor.send(run, 'take_seat', data={'seat': 'reviewer1'})
        await wait_for_state(conductor, run, 'reviewing.reviewer1.person')
        await conductor.send(run, 'hand_back', data={'seat': 'reviewer1'})
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
    assert not any(entry['human'] for entry in outcome.memory['transcript'])


async def test_a_person_codes_in_a_coders_seat():
    hold = asyncio.Event()
    model = FakeModel(actors(everybody(BEST, coder1=lambda request: hold)))
    async with review_conductor(model) as conductor:
        run = await begin(conductor, coders=2, max_revisions=0)
        await until(lambda: model.running)
        await conductor.send(run, 'take_seat', data={'seat': 'coder1'})
        view = await wait_for_state(conductor, run, 'implementing.coder1.person')
        assert view.waiting == 'work'
        with pytest.raises(InvalidInput):
            await conductor.send(
                run, 'hand_in', data={'seat': 'coder1', 'files': [{'path': '../x', 'text': ''}]}
            )
        with pytest.raises(EventRefused):
            await conductor.send(run, 'hand_in', data={'seat': 'coder2'})
        await conductor.send(
            run, 'hand_in', data={'seat': 'coder1', 'files': [{'path': 'work.txt', 'text': 'good by hand'}],
                                  'said': 'I wrote it myself.'},
        )  # fmt: skip
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
    mine = outcome.memory['candidates']['coder1']
    assert (mine['status'], mine['model'], mine['edits']) == ('ready', '', [])
    assert mine['versions'][0]['said'] == 'I wrote it myself.'
    assert mine['versions'][0]['evidence']['required']['passed'] == 1
    assert 'good by hand' in next(r for r in model.requests if r.hints.role == 'reviewer1').messages[-1].text


async def test_a_person_in_a_coders_seat_revises_and_removes_a_file():
    script = everybody(BEST)
    async with review_conductor(script) as conductor:
        run = await begin(conductor, coders=1, max_revisions=1, pick='person')
        await conductor.send(run, 'take_seat', data={'seat': 'coder1'})
        await wait_for_state(conductor, run, 'implementing.coder1.person')
        files = [{'path': 'work.txt', 'text': 'good'}, {'path': 'old.txt', 'text': 'x'}]
        await conductor.send(run, 'hand_in', data={'seat': 'coder1', 'files': files})
        await wait_for_state(conductor, run, 'revising.coder1.person')
        files = [{'path': 'work.txt', 'text': 'good 2'}, {'path': 'old.txt'}]
        await conductor.send(run, 'hand_in', data={'seat': 'coder1', 'files': files})
        outcome = await to_the_end(conductor, run)
    first, second = outcome.memory['candidates']['coder1']['versions']
    assert [file['path'] for file in first['files']] == ['old.txt', 'work.txt']
    assert [file['path'] for file in second['files']] == ['work.txt']


async def test_an_invalid_file_keeps_the_person_in_the_seat():
    async with review_conductor(everybody(BEST)) as conductor:
        run = await begin(conductor, coders=1, max_revisions=0)
        await conductor.send(run, 'take_seat', data={'seat': 'coder1'})
        await wait_for_state(conductor, run, 'implementing.coder1.person')
        files = [{'path': 'work.txt', 'text': 'good'}, {'path': 'work.txt/inside', 'text': 'x'}]
        await conductor.send(run, 'hand_in', data={'seat': 'coder1', 'files': files})
        view = await wait_for_state(conductor, run, 'implementing.coder1.person')
        assert 'work.txt' in view.memory['candidates']['coder1']['problem']
        await conductor.send(run, 'hand_back', data={'seat': 'coder1'})
        outcome = await to_the_end(conductor, run)
    assert outcome.memory['candidates']['coder1']['status'] == 'ready'
