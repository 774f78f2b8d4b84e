"""Custom stages: callables of every form, including LangGraph nodes, and stages as LangGraph nodes."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from engine import LocalConductor, PatternError, Status
from engine.models.scripted.model import Scripted
from engine.patterns.pipeline import Pipeline
from engine.patterns.pipeline.pattern import AnalyzerAgent, ResearchAgent, ReviewerAgent
from engine.patterns.pipeline.stage import stage
from engine.patterns.pipeline.task_state import Draft as PipelineDraft
from engine.patterns.pipeline.task_state import Review, TaskState
from tests.support.harness import PIPELINE_TASK as TASK
from tests.support.harness import FakeModel, catalog, pipeline_reply
from tests.support.harness import ran_pipeline as ran


def sync_stage(state: TaskState) -> TaskState:
    state.research = f'about {state.task}'
    state.note('mine', 'analyzer', 'findings', 'sync')
    return state


async def async_stage(state: TaskState) -> TaskState:
    await asyncio.sleep(0)
    return sync_stage(state)


def node(state: TaskState) -> dict[str, Any]:
    return {'research': f'about {state.task}', 'status': 'COMPLETE', 'iteration': 99, 'max_iterations': 99}


class Callable_:
    async def __call__(self, state: TaskState) -> dict[str, Any]:
        return node(state)


class Agent:
    def process(self, state: TaskState) -> TaskState:
        return sync_stage(state)


@pytest.mark.parametrize(
    'work',
    [sync_stage, async_stage, node, Callable_(), partial(async_stage), Agent()],
    ids=['sync', 'async', 'node', 'object', 'partial', 'agent'],
)
async def test_any_callable_can_replace_an_agent(work: Any) -> None:
    outcome, passed = await ran(pattern=Pipeline.with_stages('mine', researching=work))
    assert outcome.status is Status.DONE
    assert outcome.memory['research'] == f'about {TASK["task"]}'
    assert passed[-1] == 'COMPLETE' and passed.count('COMPLETE') == 1 and outcome.memory['iteration'] == 1


def raises(error: BaseException) -> Any:
    def work(state: TaskState) -> TaskState:
        raise error

    return work


@pytest.mark.parametrize(
    ('work', 'says'),
    [
        (raises(RuntimeError('broken')), 'RuntimeError: broken'),
        (raises(StopIteration()), 'RuntimeError: StopIteration'),
        (raises(SystemExit(1)), 'SystemExit: 1'),
        (lambda state: None, 'a stage must return the state or a mapping, not NoneType'),
        (lambda state: {'colour': 1}, 'colour: there is no such field'),
        (lambda state: {'drafts': 'x'}, 'drafts: Input should be a valid list'),
    ],
)
async def test_a_failing_callable_fails_the_run_with_the_reason(work: Any, says: str) -> None:
    async with asyncio.timeout(10):
        outcome, passed = await ran(pattern=Pipeline.with_stages('mine', analyzing=work))
    assert outcome.status is Status.FAILED and says in outcome.error
    assert passed[-1] == 'FAILED' and outcome.memory['error'] == outcome.error


class CheckedState(TaskState):
    checked: bool = False


class Checked(Pipeline):
    """A fact checker between the analyzer and the reviewer: one state, one edge."""

    Memory = CheckedState
    states = [*Pipeline.states, stage('checking', lambda state: {'checked': 'draft' in state.analysis})]
    transitions = [
        ['done', 'analyzing', 'checking'],
        ['done', 'checking', 'reviewing'],
        *Pipeline.transitions,
    ]


async def test_adding_a_stage_is_one_state_and_one_edge() -> None:
    outcome, passed = await ran(pattern=Checked)
    assert outcome.status is Status.DONE and outcome.memory['checked'] is True
    assert passed.count('ANALYZING') == passed.count('CHECKING') == passed.count('REVIEWING') == 2


def reads_keys(state: Any) -> dict[str, Any]:
    return {**state, 'analysis': f'read: {state["task"]}'}


def takes_config(state: TaskState, config: RunnableConfig) -> dict[str, Any]:
    return {'analysis': f'configured {sorted(config)}'}


async def takes_config_by_name(state: TaskState, *, config: RunnableConfig) -> dict[str, Any]:
    return takes_config(state, config)


class Draft(TypedDict, total=False):
    task: str
    analysis: str


def drafts(state: Draft) -> Draft:
    return {'analysis': f'graph: {state["task"]}'}


def graph_of(schema: Any, work: Any) -> Any:
    graph = StateGraph(schema)
    graph.add_node('work', work)
    graph.add_edge(START, 'work')
    graph.add_edge('work', END)
    return graph


@pytest.mark.parametrize(
    'work',
    [
        reads_keys,
        takes_config,
        takes_config_by_name,
        lambda state: Command(update={'analysis': 'commanded'}),
        RunnableLambda(reads_keys),
        RunnableLambda(lambda state: {'analysis': state.task}),
        graph_of(Draft, drafts).compile(),
        graph_of(TaskState, lambda state: {'analysis': state.task}).compile(),
    ],
    ids=['keys', 'config', 'named-config', 'command', 'runnable', 'attributes', 'graph', 'graph-of-states'],
)
async def test_langgraph_nodes_of_each_usual_form_are_stages(work: Any) -> None:
    outcome, _ = await ran(
        partial(pipeline_reply, revisions=0), Pipeline.with_stages('graphs', analyzing=work)
    )
    assert (outcome.status, bool(outcome.memory['analysis'])) == (Status.DONE, True), outcome.error
    assert outcome.memory['research'] == '- six'


def generates(state: TaskState) -> Any:
    yield state


@pytest.mark.parametrize(
    ('work', 'says'),
    [
        (lambda state, store: state, "stage 'analyzing'.*it also needs store"),
        (generates, 'a generator cannot be a stage'),
        (lambda: {}, 'it takes no state'),
        (AnalyzerAgent, 'AnalyzerAgent is a class: pass an instance'),
        (graph_of(Draft, drafts), 'a StateGraph must be compiled first'),
        ('analyzer', 'a stage must be callable, and a str is not'),
    ],
)
def test_invalid_stages_are_refused_at_class_creation(work: Any, says: str) -> None:
    with pytest.raises(PatternError, match=says):
        Pipeline.with_stages('refused', analyzing=work)


async def test_a_langgraph_command_must_not_choose_the_next_node() -> None:
    def leaves(state: TaskState) -> Command[Any]:
        return Command(update={'analysis': 'x'}, goto='reviewing')

    outcome, _ = await ran(pattern=Pipeline.with_stages('leaving', analyzing=leaves))
    assert outcome.status is Status.FAILED and 'the orchestrator decides what follows' in outcome.error


def graph_of_agents(form: str) -> Any:
    own_catalog = catalog(FakeModel(pipeline_reply))
    graph = StateGraph(TaskState)
    for name, agent in (('r', ResearchAgent()), ('a', AnalyzerAgent()), ('v', ReviewerAgent())):
        graph.add_node(name, partial(getattr(agent, form), catalog=own_catalog))
    graph.add_edge(START, 'r')
    graph.add_edge('r', 'a')
    graph.add_edge('a', 'v')
    graph.add_conditional_edges('v', lambda state: END if len(state.drafts) > 1 else 'a')
    return graph.compile()


@pytest.mark.parametrize('form', ['process', 'aprocess'])
async def test_agents_are_nodes_of_a_real_graph(form: str) -> None:
    result = await graph_of_agents(form).ainvoke(TASK)
    assert result['research'] == '- six' and len(result['drafts']) == len(result['reviews']) == 2


def test_agents_are_nodes_of_a_real_graph_that_is_called_synchronously() -> None:
    result = graph_of_agents('process').invoke(TASK)
    assert result['research'] == '- six' and len(result['drafts']) == 2


async def test_a_synchronous_call_works_inside_a_running_loop() -> None:
    result = graph_of_agents('process').invoke(TASK)
    assert result['research'] == '- six'


async def test_the_guides_revision_loop_ends_offline() -> None:
    graph = StateGraph(TaskState)
    for name, agent in (('r', ResearchAgent()), ('a', AnalyzerAgent()), ('v', ReviewerAgent())):
        graph.add_node(name, partial(agent.aprocess, catalog=catalog(Scripted(pace=0))))
    graph.add_edge(START, 'r')
    graph.add_edge('r', 'a')
    graph.add_edge('a', 'v')
    graph.add_conditional_edges('v', lambda state: END if state.approved else 'a')
    result = await graph.compile().ainvoke(TASK, {'recursion_limit': 9})
    assert (result['approved'], result['iteration'], result['status']) == (True, 1, 'REVIEWING')
    assert len(result['drafts']) == 2


@pytest.mark.parametrize(
    ('drafts', 'request_text'),
    [([PipelineDraft(version=1, text='It is six.')], 'Revise draft 1.'), ([], 'Revise the draft.')],
    ids=['numbered', "custom stage's"],
)
async def test_an_agent_alone_is_told_the_whole_state_in_a_revision(
    drafts: list[PipelineDraft], request_text: str
) -> None:
    model = FakeModel('the second draft')
    review = Review(approved=False, score=40, comments=('Name the cost.',), summary='Too short.')
    state = TaskState(**TASK, research='- six', analysis='It is six.', reviews=[review], drafts=drafts)
    result = await AnalyzerAgent().aprocess(state, catalog=catalog(model))
    prompt = model.requests[0].messages[-1].text
    assert all(
        text in prompt
        for text in (TASK['task'], '- six', 'It is six.', 'Too short.', 'Name the cost.', request_text)
    )
    assert 'raft 0' not in prompt + ReviewerAgent().prompt(state)
    assert (result.iteration, state.iteration, result.status) == (1, 0, 'ANALYZING')


async def test_a_plain_method_is_a_node() -> None:
    graph = graph_of(TaskState, ResearchAgent().process).compile()
    assert (await graph.ainvoke(TASK))['research']


async def test_a_stage_that_runs_alone_takes_a_model() -> None:
    own_catalog = catalog(FakeModel('never'))
    own_catalog.models['other'] = FakeModel(pipeline_reply)  # type: ignore[assignment]
    state = await ResearchAgent().aprocess(TaskState(**TASK), catalog=own_catalog, model='other')
    assert state.research.startswith('- six')


def asks_inside(state: TaskState) -> TaskState:
    return ResearchAgent().process(state)


async def awaits_inside(state: TaskState) -> TaskState:
    return await ResearchAgent().aprocess(state)


@pytest.mark.parametrize('work', [asks_inside, awaits_inside])
async def test_an_agent_called_in_a_stage_uses_the_runs_models(work: Any) -> None:
    real = FakeModel(pipeline_reply, simulated=False)
    pattern = Pipeline.with_stages('inside', researching=work)
    own_catalog = catalog(FakeModel('never'), pattern)
    own_catalog.models['other'] = real  # type: ignore[assignment]
    async with asyncio.timeout(60), LocalConductor(catalog=own_catalog) as conductor:
        run = (await conductor.start('inside', TASK, models={'': 'other'})).id
        outcome, view = await conductor.result(run), await conductor.view(run)
    assert outcome.memory['research'] == '- six'
    spending = view.spending['researching.processing']
    assert spending.models['other'].calls == 2 and spending.origins == ('live',)


async def test_a_blocking_stage_is_told_what_to_call_instead() -> None:
    async def blocks(state: TaskState) -> TaskState:
        return asks_inside(state)

    outcome, _ = await ran(pattern=Pipeline.with_stages('blocks', researching=blocks))
    assert 'must await `aprocess`' in outcome.error
