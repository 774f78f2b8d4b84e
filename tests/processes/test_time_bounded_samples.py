"""The sample that expires, with real tests: given more time, it continues to its goal."""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine import Catalog, LocalConductor, Status
from engine.models.scripted.library import scenarios
from engine.models.scripted.model import Scripted
from tests.support.clocks import IdleClock


async def test_the_expired_sample_reaches_its_goal_with_more_time() -> None:
    (sample,) = [scenario for scenario in scenarios('time-bounded') if scenario.name == 'word-statistics']
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0)
    async with LocalConductor(catalog=catalog, clock=IdleClock(longest=3600)) as conductor:
        run = (await conductor.start('time-bounded', sample.parameters)).id
        while (view := await conductor.view(run)).status is not Status.WAITING:
            assert not view.status.ended, view.error
            await asyncio.sleep(0.005)
        assert view.memory['changed_files'] == [
            'frequent.py',
            'report.py',
            'test_frequent.py',
            'test_report.py',
        ]
        await conductor.send(run, 'add_time', data={'seconds': 120})
        outcome = await conductor.result(run)
    memory = outcome.memory
    assert (memory['status'], memory['verified']) == ('completed', True)
    assert len(memory['plans']) == 1 and memory['steps']['3']['attempts'] == 1
    assert (
        memory['steps']['1']['ended'] <= memory['clock']['grants'][0]['ran'] <= memory['steps']['3']['ended']
    )
    assert {'main.py', 'test_main.py'} < set(memory['changed_files'])


async def test_the_scripted_model_can_play_a_custom_goal() -> None:
    async with LocalConductor(catalog=Catalog.load(), clock=IdleClock()) as conductor:
        goal = {'primary_goal': 'Äpfel 🙂 zählen', 'wait_for_time': 0}
        run = (await conductor.start('time-bounded', goal)).id
        outcome = await conductor.result(run)
    memory = outcome.memory
    assert (outcome.status, outcome.error, memory['verified']) == (Status.DONE, '', True)
    assert [step['status'] for step in memory['steps'].values()] == ['completed', 'completed']
    assert 'test_simulated_1.py' in memory['changed_files'] and 'Simulated filler' in memory['report']
    assert not any(message['degraded'] for message in memory['messages'])


async def test_the_scripted_model_gives_up_on_a_project_with_failing_tests(tmp_path: Path) -> None:
    (tmp_path / 'test_bad.py').write_text('def test_bad():\n    assert False\n')
    async with LocalConductor(catalog=Catalog.load(), clock=IdleClock()) as conductor:
        goal = {'primary_goal': 'Add a flag for more words', 'project': str(tmp_path), 'wait_for_time': 0}
        run = (await conductor.start('time-bounded', goal)).id
        outcome = await conductor.result(run)
    assert outcome.status is Status.FAILED
    assert 'This project has failing tests that the scripted model cannot fix.' in outcome.error
    assert sum(message['type'] == 'TEST_REQUEST' for message in outcome.memory['messages']) == 4
    assert not any('but the test run says otherwise' in line['text'] for line in outcome.memory['event_log'])
