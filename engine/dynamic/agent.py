"""DynamicAgent: a pattern of one agent that chooses its tools itself, until its criteria hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field

from engine.activity import Activity
from engine.agent import AgentSpec, Role, agent
from engine.dynamic.artifacts import as_text
from engine.dynamic.compared import Side, weigh
from engine.dynamic.criteria import Criteria
from engine.dynamic.phases import Phase, sequence
from engine.dynamic.registry import Registry
from engine.dynamic.templates import fill
from engine.fields import Form, task_field
from engine.memory import Memory as BaseMemory
from engine.pattern import Pattern
from engine.records import Event

Mode = Literal['dynamic', 'fixed', 'compare']
MODE: Any = Field(
    'dynamic',
    title='Way of working',
    description='Let the agent choose its tools, run the fixed phases, or run both and compare them',
)
"""The field `mode` of the parameters of an agent that has phases too."""


def _side(mode: str, pattern: DynamicAgent) -> dict[str, Any]:
    """One side of a comparison: it ends well also where its agent failed, for the other goes on."""
    return {
        'name': mode,
        'initial': 'working',
        'children': [pattern._work(mode), {'name': 'over', 'final': True}],
        'transitions': [['done', 'working', 'over'], ['failed', 'working', 'over']],
    }


def _keep_answer(result: str, scope: Any, event: Event) -> None:
    """The artifact that the work was for becomes the answer."""
    made = scope.state.agents[scope.path].artifacts.get(result)
    if made is not None:
        scope.state.memory.answer = scope.pattern.told(made.value)


class DynamicAgent(Pattern):
    """An agent that works out by itself which of its tools a request needs.

    A subclass in a file of its own is a new agent. Class attributes beside those of `Pattern`:
        role: who it is, with its tools.
        until: when its work is complete.
        template: the file of `assets/prompts`, without `.md`, that its task is made from.
        result: the artifact that the run's answer is.
        output: the record its last reply must be, if it is one.
        phases: the fixed sequence, for those that have one; then `Parameters` has a field `mode`.
    """

    role: ClassVar[Role] = Role(name='agent', title='Agent', instructions='')
    until: ClassVar[Criteria] = Criteria()
    template: ClassVar[str] = ''
    result: ClassVar[str] = 'content'
    output: ClassVar[type[BaseModel] | None] = None
    phases: ClassVar[tuple[Phase, ...]] = ()

    class Parameters(Form):
        """What the launch form asks for."""

        request: str = task_field(
            'Request',
            'What the agent is to do, in a sentence or a page',
            'Write a short post about why small tools last',
        )

    class Memory(BaseMemory):
        """What a run remembers beside the agent's own state."""

        request: str = ''
        prompt: str = ''
        """The agent's task, made from its template."""
        tools: tuple[str, ...] = ()
        """Those that can be used here."""
        off: dict[str, str] = Field(default_factory=dict)
        """Those that cannot, and why."""
        warnings: tuple[str, ...] = ()
        given: dict[str, str] = Field(default_factory=dict)
        """What the phases need of what was laid out for them."""
        answer: str = ''
        comparison: tuple[Side, ...] = ()
        """Both ways beside each other, where they were compared."""
        error: str = ''

    family = 'One agent and its tools'
    initial = 'preparing'
    answer = 'answer'

    @property
    def mode(self) -> Mode:
        """How this run works."""
        return getattr(self.parameters, 'mode', 'dynamic')

    @property
    def compared(self) -> str:
        """Both ways stand beside each other where both are run."""
        return 'comparison' if self.mode == 'compare' else ''

    @property
    def task(self) -> str:
        """The request: another parameter may be a longer text."""
        return str(getattr(self.parameters, 'request', ''))

    def states(self) -> Sequence[Any]:
        """Preparing, the work (both ways of it, to compare them), and the ends."""
        ends = [
            {'name': 'complete', 'final': True},
            {'name': 'failed', 'final': True, 'outcome': 'failed', 'on_enter': 'keep_error'},
        ]
        first = {'name': 'preparing', 'invoke': 'prepare'}
        if self.mode != 'compare':
            return [first, self._work(self.mode), *ends]
        both = {'name': 'both', 'parallel': [_side('dynamic', self), _side('fixed', self)]}
        weighing = {'name': 'weighing', 'invoke': partial(weigh, self.result)}
        return [first, both, weighing, *ends]

    def transitions(self) -> Sequence[Any]:
        """One after another; whatever fails ends the run, but for one of two sides."""
        work = 'both' if self.mode == 'compare' else 'working'
        begin = {'trigger': 'done', 'source': 'preparing', 'dest': work, 'before': 'keep_prepared'}
        lost = [['failed', '*', 'failed'], ['expired', '*', 'failed']]
        if self.mode != 'compare':
            return [begin, ['done', 'working', 'complete'], *lost]
        weighed = {'trigger': 'done', 'source': 'weighing', 'dest': 'complete', 'before': 'keep_comparison'}
        neither = {'trigger': 'done', 'source': 'weighing', 'dest': 'failed', 'conditions': 'neither_is_done',
                   'before': 'keep_comparison'}  # fmt: skip
        return [begin, ['done', 'both', 'weighing'], neither, weighed, *lost]

    async def prepare(self, memory: Memory, activity: Activity) -> dict[str, Any]:
        """Find out which tools can be used, lay out what they work on, and make the prompt."""
        known = Registry((await activity.services.toolset(self.role.tools)).values())
        registry = (await known.available(activity.services.sandbox)).but(self.unusable())
        snapshots: dict[str, str] = {}
        given: Mapping[str, str] = {}
        for folder in self.folders:
            snapshot, given = await self.lay_out(folder, activity)
            snapshots |= {folder: snapshot} if snapshot else {}
        values = {**self.parameters.model_dump(), **given, 'signal': self.until.signal}
        return {
            'prompt': fill(self.template, {**values, 'tools': registry.section(), 'names': list(registry)}),
            'tools': list(registry),
            'off': registry.off,
            'warnings': registry.warnings(),
            'given': dict(given),
            'snapshots': snapshots,
        }

    async def lay_out(self, folder: str, activity: Activity) -> tuple[str, Mapping[str, str]]:
        """Put what the agent works on into its folder.

        Returns:
            The id of the folder's snapshot, or '' where it has none; and texts for the prompt and the phases.
        """
        return '', {}

    def told(self, value: Any) -> str:
        """The artifact that the work was for, as the answer that people read."""
        return as_text(value)

    def unusable(self) -> Mapping[str, str]:
        """Tools that this run's parameters leave nothing to do for, and why."""
        return {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The names of the folders that agents work in."""
        return ('dynamic', 'fixed') if self.mode == 'compare' else ('work',)

    def prompt_working(self, memory: Memory) -> str:
        """The task."""
        return memory.prompt

    def keep_prepared(self, memory: Memory, event: Event) -> None:
        """Take over what was prepared."""
        memory.prompt, memory.tools = event.data['prompt'], tuple(event.data['tools'])
        memory.warnings = tuple(event.data['warnings'])
        memory.off, memory.given = dict(event.data['off']), dict(event.data['given'])

    def keep_comparison(self, memory: Memory, event: Event) -> None:
        """Both sides beside each other; the answer is that of the dynamic one, if it has one."""
        memory.comparison = tuple(Side.model_validate(side) for side in event.data['sides'])
        done = [side for side in memory.comparison if side.done]
        memory.answer = done[0].output if done else ''
        memory.error = '; '.join(f'{side.way}: {side.problem}' for side in memory.comparison if side.problem)

    def neither_is_done(self, memory: Memory, event: Event) -> bool:
        """Both sides failed."""
        return not any(side['done'] for side in event.data['sides'])

    def keep_error(self, memory: Memory, event: Event) -> None:
        """Why it failed."""
        memory.error = memory.error or str(event.data.get('error') or f'{event.at} {event.name}')

    def _work(self, mode: str) -> dict[str, Any]:
        """The state that does the work: an agent's chart, or the phases."""
        folder = mode if self.mode == 'compare' else 'work'
        dynamic = agent(
            'working',
            self.role,
            output=self.output,
            prompt='prompt_working',
            then=partial(_keep_answer, self.result),
            until=self.until,
            folder=folder,
        )
        if mode != 'fixed':
            return dynamic
        # Nobody is there to give a signal.
        spec: AgentSpec = replace(dynamic['agent'], until=replace(self.until, signal=''))
        return sequence('working', spec, self.phases, partial(_keep_answer, self.result))
