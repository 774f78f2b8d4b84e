"""Reviewers are agents with tools: they read, search, test and compare every candidate's folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine import ToolContext
from engine.errors import ToolError
from engine.models.protocol import ModelRequest
from engine.records.message import ToolResult
from engine.tools.builtin.candidates.compare_candidates import compare_candidates
from tests.support.harness import FakeModel, calls, to_the_end
from tests.support.teams.parallel_review import (
    BEST,
    actors,
    begin,
    everybody,
    play_review,
    review_conductor,
    writing,
)

LONG = ''.join(f'line {number}\n' for number in range(4_000))


def results(model: FakeModel, state: str) -> list[str]:
    """Return the tool results of a state's agent from all its visits."""
    requests = [request for request in model.requests if request.hints.state == state]
    parts = (part for message in requests[-1].messages for part in message.parts)
    return [part.text for part in parts if isinstance(part, ToolResult)]


def using(*tools: tuple[str, dict[str, Any]]) -> Callable[[ModelRequest], Any]:
    """Return the replies of a reviewer that calls tools and then states its position."""

    def reply(request: ModelRequest) -> Any:
        return BEST if request.messages[-1].role == 'tool' else calls(*tools)

    return reply


async def test_a_reviewer_reads_tests_and_compares_what_the_coders_made():
    look = using(
        ('list_files', {}),
        ('read_file', {'path': 'coder2/long.txt', 'start': 3_999}),
        ('test_candidate', {'candidate': 'coder1'}),
        ('test_candidate', {'candidate': 'coder2'}),
        ('compare_candidates', {'first': 'coder1', 'second': 'coder2', 'path': 'work.txt'}),
        ('test_candidate', {'candidate': 'coder9'}),
    )
    script = everybody(BEST, coder1=writing('good one'), coder2=writing('bad two', ('long.txt', LONG)))
    script['reviewing.reviewer1.reading'] = look
    model = FakeModel(actors(script))
    await play_review(model, coders=2, max_revisions=0)
    files, tail, good, bad, change, nobody = results(model, 'reviewing.reviewer1.reading')
    assert files.split('\n') == [
        'coder1/', 'coder1/work.txt  8', 'coder2/', f'coder2/long.txt  {len(LONG)}', 'coder2/work.txt  7',
    ]  # fmt: skip
    assert tail.startswith('line 3998\nline 3999')
    assert good == 'coder1 version 1: the test command succeeded; it reported no tests'
    assert bad.startswith('coder2 version 1: the test command failed; it reported no tests')
    assert '-good one' in change and '+bad two' in change
    assert "no candidate 'coder9'" in nobody and 'coder1, coder2' in nobody


async def test_the_final_review_sees_the_new_version_and_what_changed():
    look = using(
        ('read_file', {'path': 'coder1/work.txt'}),
        ('compare_candidates', {'first': 'coder1@1', 'second': 'coder1'}),
        ('compare_candidates', {'first': 'coder1@7', 'second': 'coder1'}),
    )
    script = everybody(BEST) | {'final_review.reviewer2.speaking': look}
    script['implementing.coder1.working'] = writing('first')
    script['revising.coder1.working'] = writing('second')
    model = FakeModel(actors(script))
    await play_review(model, coders=2, max_revisions=1)
    text, change, unknown = results(model, 'final_review.reviewer2.speaking')[:3]  # from its first visit
    assert text == 'second' and '-first' in change and '+second' in change
    assert unknown == 'coder1 has versions 1 to 2, not 7'


async def test_a_reviewers_changes_stay_in_its_own_copies():
    script = everybody(BEST)
    script['reviewing.reviewer1.reading'] = using(('test_candidate', {'candidate': 'coder1'}))
    async with review_conductor(script) as conductor:
        run = await begin(conductor, coders=2, max_revisions=0)
        outcome = await to_the_end(conductor, run)
        snapshots = {
            name: snapshot
            for step in await conductor.transitions(run)
            for name, snapshot in step.event.data.get('snapshots', {}).items()
        }
    version = outcome.memory['candidates']['coder1']['versions'][-1]
    assert snapshots['coder1'] == version['snapshot']
    assert snapshots['reviewer1'] and snapshots['reviewer2']


async def test_text_only_models_get_no_tools():
    script = everybody('REVISE_BEST: coder1 more tests\nCONSENSUS: REVISE_BEST: coder1 more tests')
    model = FakeModel(actors(script))
    await play_review(model, coders=2, max_revisions=0, answers='words')
    request = next(r for r in model.requests if r.hints.state == 'reviewing.reviewer1.reading')
    assert not request.tools and 'Your folder holds' not in request.messages[-1].text


async def test_review_tools_explain_where_they_apply():
    with pytest.raises(ToolError, match='for reviewers'):
        await compare_candidates.run('{"first": "a", "second": "b"}', ToolContext(key='k'))


async def test_first_reviews_are_in_reviewer_order():
    script = everybody(BEST) | {'reviewing.reviewer1.reading': using(('list_files', {}), ('list_files', {}))}
    outcome, _ = await play_review(script, coders=2, max_revisions=0)
    first = [entry['speaker'] for entry in outcome.memory['transcript'] if entry['phase'] == 'review']
    assert first == ['reviewer1', 'reviewer2']
