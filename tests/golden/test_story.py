"""Every pattern's recorded runs tell who works, on what, since when, what was decided, and what came out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.journal import Fold
from tests.golden.test_replay import CATALOG, FOLDER, GOLDEN, STEPS
from ui.web.pages.shared.run.context import agent_name
from ui.web.replay.index import Index
from ui.web.replay.story import NEEDS_PERSON, tell

BUSY = ('thinking', 'using_tools', *NEEDS_PERSON)


@pytest.mark.parametrize('path', sorted(FOLDER.glob('*.json')), ids=lambda path: path.stem)
def test_each_step_of_a_recorded_run_tells_its_story(path: Path) -> None:
    document = json.loads(path.read_text('utf-8'))
    steps = STEPS.validate_python(document['steps'])
    shape = CATALOG.draw(document['pattern'], document['parameters'])
    index, run = Index(shape), Fold(GOLDEN, shape)
    for step in steps:
        index.add(step)
    asked, decided = [], 0
    for step in steps:
        run.apply(step)
        view = run.view
        story = tell(view, shape, index, lambda at, role: agent_name(shape, at, role))
        busy = [leaf for leaf in view.active if leaf.rpartition('.')[2] in BUSY and not view.status.ended]
        told = [item.path for item in story.work]
        assert all(any(leaf.startswith(path) for path in told) for leaf in busy), (step.seq, busy, told)
        assert all(item.name and item.since <= view.time for item in story.work), step.seq
        assert [decision.seq for decision in story.decisions] == sorted(
            (decision.seq for decision in story.decisions), reverse=True
        )
        assert all(decision.seq <= step.seq for decision in story.decisions)
        asked += [item for item in story.work if item.line]
        decided = max(decided, len(story.decisions))
        waits = [leaf for leaf in busy if leaf.endswith(NEEDS_PERSON)]
        assert len(story.needs) >= len(waits), step.seq
    assert asked, 'nobody ever worked on anything'
    assert decided or document['status'] == 'failed' or len(steps) < 4
    assert story.outcome and not story.work and not story.needs
    assert document['error'] in story.outcome


def test_the_pipeline_tells_verdicts_with_the_agent_who_gave_them() -> None:
    document = json.loads((FOLDER / 'event-sourcing.json').read_text('utf-8'))
    shape = CATALOG.draw(document['pattern'], document['parameters'])
    index, run = Index(shape), Fold(GOLDEN, shape)
    for step in STEPS.validate_python(document['steps']):
        index.add(step)
        run.apply(step)
    story = tell(run.view, shape, index, lambda at, role: agent_name(shape, at, role))
    assert [(one.seq, one.path, one.text, one.tone) for one in story.decisions] == [
        (28, 'reviewing', 'Reviewer: approved', 'good'),
        (22, 'reviewing', 'Reviewer: sent back', 'bad'),
        (14, 'reviewing', 'Reviewer: sent back', 'bad'),
    ]
    assert 'Done' in story.outcome and 'event sourcing' in story.outcome


def test_a_run_that_waits_for_approval_says_who_needs_a_person() -> None:
    document = json.loads((FOLDER / 'event-sourcing.json').read_text('utf-8'))
    shape = CATALOG.draw(document['pattern'], document['parameters'])
    index, run = Index(shape), Fold(GOLDEN, shape)
    for step in STEPS.validate_python(document['steps'])[:3]:
        index.add(step)
        run.apply(step)
    waiting = replace(run.view, active=('researching.approving',))
    (work,) = tell(waiting, shape, index, lambda at, role: agent_name(shape, at, role)).needs
    assert (work.name, work.doing) == ('Researcher', 'waits for your approval')
