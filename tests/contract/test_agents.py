"""The contract of every agent of pipeline and supervisor: a role, existing tools, `process(state)`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from engine import Catalog, EngineError, Role
from engine.errors import ModelError
from engine.patterns.pipeline import pattern
from engine.patterns.pipeline.stage import Stage
from engine.patterns.pipeline.task_state import Draft, Review, TaskState
from engine.patterns.supervisor import roles as roles_of_team
from tests.support.harness import FakeModel

MODULES = [pattern, roles_of_team]
CATALOG = Catalog.load()


def _stages() -> Iterator[type[Stage]]:
    for module in MODULES:
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, Stage) and value.__module__ == module.__name__:
                yield value


STAGES = list(_stages())


def roles() -> dict[str, Role]:
    roles = {f'{stage.__name__}.role': stage.role for stage in STAGES}
    for module in MODULES:
        roles |= {
            f'{module.__name__}.{name}': value
            for name, value in vars(module).items()
            if isinstance(value, Role)
        }
    return roles


every_stage = pytest.mark.parametrize('stage', STAGES, ids=lambda stage: stage.__name__)
every_role = pytest.mark.parametrize('role', roles().values(), ids=list(roles()))


def half_done_task() -> TaskState:
    """Return the state of a task that has content for every stage to read."""
    return TaskState(
        task='Should we buy a heat pump?',
        research='- It costs 12,000 euros.',
        analysis='Buy it.',
        drafts=[Draft(version=1, text='Buy it.')],
        reviews=[Review(approved=False, score=40, comments=('Say what it saves.',), summary='Too short.')],
    )


def test_every_agent_is_found() -> None:
    assert len(STAGES) >= 3
    homes = {stage.__module__ for stage in STAGES} | {
        module.__name__
        for module in MODULES
        if any(isinstance(value, Role) for value in vars(module).values())
    }
    assert homes == {module.__name__ for module in MODULES}


@every_role
def test_a_role_has_instructions_and_existing_tools(role: Role) -> None:
    assert role.name == role.name.lower() and role.title
    assert len(role.instructions) > 40 and role.instructions.startswith('You ')
    assert role.instructions.rstrip().endswith('.')
    assert set(role.tools) <= set(CATALOG.tools)


@every_stage
def test_building_a_prompt_does_not_change_the_state(stage: type[Stage]) -> None:
    for state in (
        TaskState(task='Should we buy a heat pump?', drafts=[Draft(version=1, text='x')]),
        half_done_task(),
    ):
        before = state.to_dict()
        assert len(stage().prompt(state)) > 10 and state.to_dict() == before


@every_stage
async def test_process_returns_a_new_state_and_leaves_the_old_one_unchanged(stage: type[Stage]) -> None:
    state = half_done_task()
    before = state.to_dict()
    after = await stage().aprocess(state, catalog=CATALOG)
    assert state.to_dict() == before and isinstance(after, TaskState)
    changed = {name for name, value in after.to_dict().items() if value != before[name]}
    assert 'messages' in changed and len(changed) > 1
    assert changed.isdisjoint({'task', 'max_iterations'}), changed
    assert after.status == stage.status  # Outside a pipeline, no state of a chart says where it is.
    assert after.messages[-1].sender == stage.role.name
    assert TaskState.from_dict(after.to_dict()) == after


@every_stage
async def test_an_error_of_process_names_the_agent_and_the_reason(stage: type[Stage]) -> None:
    down: Any = FakeModel(lambda request: ModelError('nobody is at home', kind='auth'))
    catalog = Catalog(models={'scripted': down}, tools=dict(CATALOG.tools))
    state = half_done_task()
    with pytest.raises(EngineError, match=rf'{stage.role.title}.*nobody is at home'):
        await stage().aprocess(state, catalog=catalog)
    assert state == half_done_task()
