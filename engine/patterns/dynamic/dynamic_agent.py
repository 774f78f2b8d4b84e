"""DynamicAgent: a pattern with one agent that chooses its own tools until its criteria are met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field

from engine.agents.chart import agent
from engine.agents.criteria import Criteria
from engine.agents.spec import AgentSpec, Role
from engine.patterns.dynamic.mode_comparison import ModeResult, compare_modes
from engine.patterns.dynamic.phases import Phase, phase_sequence
from engine.patterns.form_fields import task_field
from engine.records import Event
from engine.records.frozen import Form
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import edge
from engine.statechart.memory import Memory as BaseMemory
from engine.statechart.pattern import Pattern
from engine.statechart.run_state import AgentState
from engine.tools.artifacts import as_text
from engine.tools.builtin.prompt_templates import fill
from engine.tools.registry import ToolRegistry

Mode = Literal['dynamic', 'fixed', 'compare']
MODE: Any = Field(
    'dynamic',
    title='Mode',
    description='What decides the next step',
    json_schema_extra={
        'labels': {
            'dynamic': 'The agent chooses its tools',
            'fixed': 'Fixed phases',
            'compare': 'Both, compared',
        }
    },
)
"""The `mode` parameter field, for agents that also have phases."""


def _build_mode_branch(mode: str, pattern: DynamicAgent) -> dict[str, Any]:
    """Return one side of a comparison; it ends normally even if its agent fails, as the other continues."""
    return {
        'name': mode,
        'initial': 'working',
        'children': [pattern._work(mode), {'name': 'over', 'final': True}],
        'transitions': [['done', 'working', 'over'], ['failed', 'working', 'over']],
    }


def _store_answer(result: str, context: CallbackContext, event: Event) -> None:
    """Make the result artifact the answer, and note any shortfall."""
    pattern: Any = context.pattern
    memory: Any = context.state.memory
    worker = context.state.agents[context.path]
    artifact = worker.artifacts.get(result)
    if artifact is not None:
        memory.answer = pattern.render(artifact.value)
    if pattern.mode != 'compare' and (shortfall := pattern.shortfall(worker, memory)):
        memory.caveat = shortfall


def _store_partial_answer(result: str, context: CallbackContext, event: Event) -> None:
    """Keep a partial answer when the work failed."""
    pattern: Any = context.pattern
    memory: Any = context.state.memory
    if pattern.mode == 'compare':
        return
    for worker in context.state.agents.values():
        artifact = worker.artifacts.get(result)
        if artifact is not None and not memory.answer:
            memory.answer = pattern.render(artifact.value)


class DynamicAgent(Pattern, abstract=True):
    """An agent that decides which of its tools a request needs.

    Each subclass in its own file is a new agent. Class attributes, in addition to those of `Pattern`:
        role: its identity and tools.
        until: its completion criteria.
        template: the file in `assets/prompts`, without `.md`, for its task.
        result: the artifact that becomes the run's answer.
        output: the record that its last reply must be, if any.
        phases: the fixed sequence, if it has one; `Parameters` then has a field `mode`.
    """

    role: ClassVar[Role] = Role(name='agent', title='Agent', instructions='')
    until: ClassVar[Criteria] = Criteria()
    template: ClassVar[str] = ''
    result: ClassVar[str] = 'content'
    output: ClassVar[type[BaseModel] | None] = None
    phases: ClassVar[tuple[Phase, ...]] = ()

    class Parameters(Form):
        """Launch form parameters."""

        request: str = task_field(
            'Request',
            'What the agent should do, in a sentence or a page',
            'Write a short post about why small tools last',
        )

    class Memory(BaseMemory):
        """A run's memory, in addition to the agent's own state."""

        request: str = ''
        prompt: str = ''
        """The agent's task, rendered from its template."""
        tools: tuple[str, ...] = ()
        """Usable tools."""
        off: dict[str, str] = Field(default_factory=dict)
        """Unusable tools, and why."""
        warnings: tuple[str, ...] = ()
        given: dict[str, str] = Field(default_factory=dict)
        """Values from the prepared folder that the phases need."""
        answer: str = ''
        comparison: tuple[ModeResult, ...] = ()
        """Results of both modes, if they were compared."""
        error: str = ''
        caveat: str = ''
        """How the answer falls short although the work is done."""

    caveat = 'caveat'
    family = 'Single agent with tools'
    initial = 'preparing'
    answer = 'answer'
    result_kind: ClassVar[str] = 'piece'
    """What its result is, as the part of the panel `result`."""

    @property
    def mode(self) -> Mode:
        """The run's mode."""
        return getattr(self.parameters, 'mode', 'dynamic')

    @classmethod
    def tool_names(cls) -> Sequence[str]:
        """Return the tools of its role."""
        return cls.role.tools

    def panels(self) -> Mapping[str, str | Mapping[str, str]]:
        """The result, and both modes' results side by side if both were run."""
        both = {'comparison': 'comparison'} if self.mode == 'compare' else {}
        return {'result': {self.result_kind: 'answer'}, **both}

    @property
    def task(self) -> str:
        """The request, even if another parameter is a longer text."""
        return str(getattr(self.parameters, 'request', ''))

    def states(self) -> Sequence[Any]:
        """Preparation, the work (in both modes when comparing), and the final states."""
        ends = [
            {'name': 'complete', 'final': True},
            {
                'name': 'failed',
                'final': True,
                'outcome': 'failed',
                'on_enter': ['record_error', partial(_store_partial_answer, self.result)],
            },
        ]
        first = {'name': 'preparing', 'invoke': 'prepare', 'caption': 'Copying the project'}
        if self.mode != 'compare':
            return [first, self._work(self.mode), *ends]
        both = {
            'name': 'both',
            'parallel': [_build_mode_branch('dynamic', self), _build_mode_branch('fixed', self)],
        }
        weighing = {'name': 'weighing', 'invoke': partial(compare_modes, self.result)}
        return [first, both, weighing, *ends]

    def transitions(self) -> Sequence[Any]:
        """Steps in sequence; any failure ends the run, except on one side of a comparison."""
        work = 'both' if self.mode == 'compare' else 'working'
        begin = edge('done', 'preparing', work, before='store_prepared')
        failure_edges = [['failed', '*', 'failed'], ['expired', '*', 'failed']]
        if self.mode != 'compare':
            return [begin, ['done', 'working', 'complete'], *failure_edges]
        weighed = edge('done', 'weighing', 'complete', before='store_comparison')
        neither = edge('done', 'weighing', 'failed', 'neither_is_done', before='store_comparison')
        return [begin, ['done', 'both', 'weighing'], neither, weighed, *failure_edges]

    def shortfall(self, worker: AgentState, memory: Memory) -> str:
        """Return how finished work falls short of the criteria, or ''."""
        signal = self.until.signal_name
        checks = {check.name: check.missing for check in self.until.all if check.name != signal}
        unmet = [checks[item.name] for item in worker.criteria if item.name in checks and not item.holds]
        return f'missing: {"; ".join(unmet)}' if unmet else ''

    async def prepare(self, memory: Memory, activity: Activity) -> dict[str, Any]:
        """Find the usable tools, prepare the folders they work in, and build the prompt."""
        all_tools = ToolRegistry((await activity.services.toolset(self.role.tools)).values())
        registry = (await all_tools.available(activity.services.sandbox)).without(self.unusable_tools())
        snapshots: dict[str, str] = {}
        values: Mapping[str, str] = {}
        for folder in self.folders:
            snapshot, values = await self.prepare_files(folder, activity)
            snapshots |= {folder: snapshot} if snapshot else {}
        prompt_values = {**self.parameters.model_dump(), **values, 'signal': self.until.signal}
        return {
            'prompt': fill(
                self.template, {**prompt_values, 'tools': registry.section(), 'names': list(registry)}
            ),
            'tools': list(registry),
            'off': registry.off,
            'warnings': registry.warnings(),
            'given': dict(values),
            'snapshots': snapshots,
        }

    async def prepare_files(self, folder: str, activity: Activity) -> tuple[str, Mapping[str, str]]:
        """Put the agent's material into its folder.

        Returns:
            The folder's snapshot id, or '' if it has none, and texts for the prompt and the phases.
        """
        return '', {}

    def render(self, value: Any) -> str:
        """Render the result artifact as an answer for people."""
        return as_text(value)

    def unusable_tools(self) -> Mapping[str, str]:
        """Return the tools that are of no use with this run's parameters, and why."""
        return {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The agents' folders: one of each mode if both are compared, else `work`."""
        return ('dynamic', 'fixed') if self.mode == 'compare' else ('work',)

    def prompt_working(self, memory: Memory) -> str:
        """The prompt as it was prepared."""
        return memory.prompt

    def store_prepared(self, memory: Memory, event: Event) -> None:
        """Store the prepared values."""
        memory.prompt, memory.tools = event.data['prompt'], tuple(event.data['tools'])
        memory.warnings = tuple(event.data['warnings'])
        memory.off, memory.given = dict(event.data['off']), dict(event.data['given'])

    def store_comparison(self, memory: Memory, event: Event) -> None:
        """Store both sides' results; the answer is the dynamic side's or, if it failed, the fixed one's."""
        memory.comparison = tuple(ModeResult.model_validate(side) for side in event.data['sides'])
        done = [side for side in memory.comparison if side.done]
        memory.answer = done[0].output if done else ''
        failures = [
            f'the {side.way} mode failed: {side.problem}' for side in memory.comparison if not side.done
        ]
        if failures and done:
            memory.caveat = '; '.join(failures)
        memory.error = '; '.join(f'{side.way}: {side.problem}' for side in memory.comparison if side.problem)

    def neither_is_done(self, memory: Memory, event: Event) -> bool:
        """Both sides failed."""
        return not any(side['done'] for side in event.data['sides'])

    def record_error(self, memory: Memory, event: Event) -> None:
        """Record why it failed."""
        memory.error = memory.error or str(event.data.get('error') or f'{event.at} {event.name}')

    def _work(self, mode: str) -> dict[str, Any]:
        """The state that does the work: an agent's chart or the phases."""
        folder = mode if self.mode == 'compare' else 'work'
        dynamic = agent(
            'working',
            self.role,
            output=self.output,
            prompt='prompt_working',
            then=partial(_store_answer, self.result),
            until=self.until,
            folder=folder,
        )
        if mode != 'fixed':
            return dynamic
        # In fixed phases, no model signals completion.
        spec: AgentSpec = replace(dynamic['agent'], until=replace(self.until, signal=''))
        return phase_sequence('working', spec, self.phases, partial(_store_answer, self.result))
