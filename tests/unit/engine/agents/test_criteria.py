"""Completion criteria: the signal, missing parts, and agents that stop early."""

from __future__ import annotations

from typing import Any

import pytest

from engine import LocalConductor, Memory, Status, ToolContext
from engine.agents import Check, Criteria
from engine.agents.chart import agent
from engine.agents.criteria import has_signal, strip_signal
from engine.records import Outcome
from engine.tools import ToolOutput
from engine.tools.protocol import tool
from tests.support.harness import ENDS, FakeModel, Lone, calls, catalog, in_turn

LONG = 'A sentence that says something. ' * 20


@pytest.mark.parametrize(
    'text',
    ['DONE_NOW', 'It is written.\nDONE_NOW', 'DONE_NOW\nBye.', '  DONE_NOW  ', '**DONE_NOW**', '`DONE_NOW`.'],
)
def test_a_separate_line_is_the_signal(text: str) -> None:
    assert has_signal('DONE_NOW', text)
    assert 'DONE_NOW' not in strip_signal('DONE_NOW', text)


@pytest.mark.parametrize(
    'text',
    [
        'I will say DONE_NOW later.', 'DONE_NOW is what I shall say', '> DONE_NOW', '```\nDONE_NOW\n```',
        '~~~\n```\nDONE_NOW\n', 'NOT_DONE_NOW', '',
    ],
)  # fmt: skip
def test_other_text_is_no_signal(text: str) -> None:
    assert not has_signal('DONE_NOW', text)
    assert strip_signal('DONE_NOW', text) == text.strip()


@tool(produces=('content',))
async def write(context: ToolContext, text: str) -> ToolOutput:
    """Write it."""
    return ToolOutput(text='DONE_NOW', artifacts={'content': text})


class Kept(Memory):
    text: str = ''


UNTIL = Criteria(
    rule='all',
    signal='DONE_NOW',
    artifacts=('content',),
    checks=(
        Check(
            name='content_is_long_enough',
            missing='a content of 500 characters',
            holds=lambda seen: len(str(seen.artifacts.get('content', ''))) >= 500,
        ),
    ),
    words='content',
    turns=6,
    reminders=2,
)


class Writer(Lone):
    """One agent with criteria."""

    Memory = Kept
    answer = 'text'
    states = [agent('working', prompt='ask', tools=('write',), then='keep', until=UNTIL), *ENDS]

    def keep(self, memory: Kept, event: Any) -> None:
        memory.text = event.data['text'].strip()


async def run(*replies: Any) -> tuple[Outcome, Any, list[Any]]:
    model = FakeModel(in_turn(*replies))
    async with LocalConductor(catalog=catalog(model, Writer, tools=(write,))) as conductor:
        run_id = (await conductor.start('writer')).id
        outcome = await conductor.result(run_id)
        steps = await conductor.transitions(run_id)
        assert await conductor.audit(run_id) == len(steps)
        return outcome, (await conductor.view(run_id)).agents['working'], steps


def list_criteria(state: Any) -> dict[str, bool]:
    return {item['name']: item['holds'] for item in state['criteria']}


async def test_work_is_complete_when_all_criteria_are_met() -> None:
    outcome, state, steps = await run(calls(('write', {'text': LONG})), 'There it is.\nDONE_NOW')
    assert outcome.status is Status.DONE
    assert state['artifacts']['content'] == {'value': LONG, 'by': 'write', 'size': len(LONG), 'kept': ''}
    assert list_criteria(state) == {
        'has_content': True,
        'content_is_long_enough': True,
        'says_done_now': True,
        'turns_left': True,
    }
    last = next(step for step in reversed(steps) if 'working.done' in step.entered)
    guards = {guard.name: guard.value for guard in last.guards}
    assert guards['has_content'] and guards['content_is_long_enough'] and guards['says_done_now']


async def test_the_agents_text_is_the_content_if_no_tool_made_one() -> None:
    outcome, state, _ = await run(f'{LONG}\nDONE_NOW')
    assert outcome.status is Status.DONE
    assert state['artifacts']['content']['value'] == LONG.strip()


async def test_a_signal_quoted_by_a_tool_does_not_count() -> None:
    outcome, state, _ = await run(calls(('write', {'text': LONG})), 'The tool said it.', 'DONE_NOW')
    assert outcome.status is Status.DONE and state['reminders'] == 1


async def test_an_agent_that_stops_early_is_told_what_is_missing() -> None:
    outcome, state, steps = await run('DONE_NOW', calls(('write', {'text': LONG})), 'DONE_NOW')
    assert outcome.status is Status.DONE and state['reminders'] == 1
    texts = [part['text'] for item in state['messages'] if item['role'] == 'user' for part in item['parts']]
    assert texts[1] == (
        'This is not complete yet. Still missing:\n'
        "- the artifact 'content'\n- a content of 500 characters\nContinue."
    )
    missing = next(step for step in steps if any(guard.name == 'has_content' for guard in step.guards))
    assert not next(guard for guard in missing.guards if guard.name == 'has_content').value


async def test_an_agent_that_never_meets_its_criteria_fails() -> None:
    outcome, state, _ = await run('no')
    assert outcome.status is Status.FAILED
    assert outcome.error == (
        'it stopped 3 times; still missing: a content of 500 characters; '
        'a last line that is DONE_NOW and nothing else. It said last: no'
    )
    assert state['artifacts']['content']['value'] == 'no'


async def test_an_agent_fails_after_its_maximum_of_turns() -> None:
    outcome, state, _ = await run(calls(('write', {'text': 'short'})))
    assert outcome.status is Status.FAILED and state['turns'] == 6
    assert outcome.error.startswith('it used all its 6 turns; still missing: a content of 500')
    assert list_criteria(state)['turns_left'] is False


async def test_a_closing_remark_does_not_replace_the_content() -> None:
    outcome, state, _ = await run(LONG, 'There.\nDONE_NOW')
    assert outcome.status is Status.DONE
    assert state['artifacts']['content']['value'] == LONG.strip()
