"""Author: an agent writes a chart file; it is checked, tried out, shown to a person, and saved."""

from __future__ import annotations

from typing import Any

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.patterns.author.parameters import INPUTS, WAIT_TEXTS, AuthorParameters
from engine.patterns.author.records import AuthorMemory, ChartDraft, Found, Worst
from engine.patterns.author.work import check_draft, read_answer, read_task, save_draft, try_draft
from engine.records import Event
from engine.runtime.activity import Activity
from engine.statechart.edges import edge
from engine.statechart.pattern import Pattern
from engine.tools.builtin.prompt_templates import as_data

WRITER = Role(
    name='author',
    title='Author',
    instructions='You write workflows of agents as chart files: short, complete, each loop with an end.',
)
SECONDS = 120.0
"""Time for reading, checking, trying out and saving, each."""
MAX_NAMED = 20
"""Maximum number of findings that the author is told at once."""
MAX_IN_CAVEAT = 3
"""Maximum number of them in the reason of a failed run."""


class Author(Pattern):
    """Describe a workflow: an agent writes it as a chart, which is checked, tried out and shown to you."""

    class Parameters(AuthorParameters):
        """Launch form parameters."""

    title = 'Workflow author'
    Memory = AuthorMemory
    family = 'Single agent with tools'
    suits = ('workflow', 'chart', 'agents', 'automate', 'writers', 'rounds')
    initial = 'reading'
    answer = 'answer'
    caveat = 'caveat'
    inputs = INPUTS
    wait_texts = WAIT_TEXTS
    panels = {
        'result': {'chart': 'drafts'},
        'chart': {'': 'drafts', 'base': 'base_text', 'version': 'version'},
    }
    words = {
        'is_sound': 'nothing serious found',
        'is_persons': "a person's draft",
        'may_correct': 'corrections left',
        'was_seen': 'a person decides',
        'wants_review': 'to be reviewed',
        'is_saved': ('saved', 'nowhere to save'),
    }
    states = (
        {'name': 'reading', 'invoke': 'read', 'within': SECONDS, 'caption': 'Reading what there is'},
        agent('drafting', WRITER, then='keep_draft', turns=2, within=1_800),
        {'name': 'checking', 'invoke': 'check', 'within': SECONDS, 'caption': 'Checking the draft'},
        {'name': 'simulating', 'invoke': 'simulate', 'within': SECONDS, 'caption': 'Trying it out'},
        {'name': 'weighing'},
        {'name': 'reviewing', 'waits': 'review', 'on_enter': 'show'},
        {'name': 'saving', 'invoke': 'save', 'within': SECONDS, 'caption': 'Saving the chart'},
        {'name': 'saved', 'final': True},
        {'name': 'unsaved', 'final': True, 'on_enter': 'note_unsaved'},
        {'name': 'failed', 'final': True, 'outcome': 'failed', 'on_enter': 'note_failure'},
    )
    transitions = (
        edge('done', 'reading', 'drafting', before='store_task'),
        ['done', 'drafting', 'checking'],
        edge('done', 'checking', 'simulating', 'finds_nothing', before='store_findings'),
        edge('done', 'checking', 'weighing', before='store_findings'),
        edge('done', 'simulating', 'weighing', before='store_trial'),
        ['always', 'weighing', 'reviewing', ['is_sound', 'wants_review']],
        ['always', 'weighing', 'saving', 'is_sound'],
        ['always', 'weighing', 'reviewing', 'is_persons'],
        edge('always', 'weighing', 'drafting', 'may_correct', before='count_correction'),
        ['always', 'weighing', 'reviewing', 'was_seen'],
        ['always', 'weighing', 'failed'],
        edge('accept', 'reviewing', 'saving', 'is_sound', before='store_approval'),
        edge('revise', 'reviewing', 'drafting', before='store_wish'),
        edge('rewrite', 'reviewing', 'checking', before='keep_rewrite'),
        ['discard', 'reviewing', 'unsaved'],
        edge('done', 'saving', 'saved', 'is_saved', before='store_version'),
        edge('done', 'saving', 'unsaved', before='store_version'),
        edge('failed', 'saving', 'reviewing', 'was_seen', before='store_problem'),
        edge('failed', 'saving', 'unsaved', before='store_problem'),
        ['failed', '*', 'failed'],
        ['expired', '*', 'failed'],
    )

    async def read(self, memory: AuthorMemory, activity: Activity) -> dict[str, Any]:
        """Read the chart that is changed and the run that went wrong, and make the author's task."""
        return await read_task(memory, activity)

    async def check(self, memory: AuthorMemory, activity: Activity) -> dict[str, Any]:
        """Find what is wrong with the draft, without running it."""
        return await check_draft(memory, activity)

    async def simulate(self, memory: AuthorMemory, activity: Activity) -> dict[str, Any]:
        """Play the draft with its stubs."""
        return await try_draft(memory, activity)

    async def save(self, memory: AuthorMemory, activity: Activity) -> dict[str, Any]:
        """Save the draft as a version."""
        return await save_draft(memory, activity)

    def prompt_drafting(self, memory: AuthorMemory) -> str:
        """Return the author's task, or what is to be changed in the draft."""
        if not memory.drafts:
            return memory.prompt
        draft = memory.drafts[-1]
        parts = []
        if draft.by == 'person':
            parts.append(f'A person has edited the file. It is now:\n{as_data(draft.text, "chart")}')
        if draft.serious:
            more = len(draft.serious) - MAX_NAMED
            listed = (f'- {problem}' for problem in draft.serious[:MAX_NAMED])
            parts.append('\n'.join(['The file is wrong:', *listed]))
            if more > 0:
                parts.append(f'There are {more} more problems.')
        if memory.wish:
            parts.append(f'A person wants this changed:\n{as_data(memory.wish, "request")}')
        return '\n\n'.join([*parts, 'Answer with the whole file again.'])

    def finds_nothing(self, memory: AuthorMemory, event: Event) -> bool:
        """The check has found nothing serious."""
        return bool(event.data['sound'])

    def is_sound(self, memory: AuthorMemory, event: Event) -> bool:
        """The draft passes all checks, and its simulated runs end as they should."""
        return memory.sound

    def is_persons(self, memory: AuthorMemory, event: Event) -> bool:
        """A person has written the draft: what is wrong with it is theirs to mend."""
        return bool(memory.drafts and memory.drafts[-1].by == 'person')

    def may_correct(self, memory: AuthorMemory, event: Event) -> bool:
        """The author may correct another draft."""
        return bool(memory.corrections < memory.rounds)

    def was_seen(self, memory: AuthorMemory, event: Event) -> bool:
        """A person has seen a draft, and decides what becomes of it."""
        return memory.seen

    def wants_review(self, memory: AuthorMemory, event: Event) -> bool:
        """A person is asked before anything is saved."""
        return bool(self.parameters.review)

    def is_saved(self, memory: AuthorMemory, event: Event) -> bool:
        """It has become a version of a chart."""
        return bool(event.data['version'])

    def store_task(self, memory: AuthorMemory, event: Event) -> None:
        """Store what was read."""
        memory.tools = tuple(event.data['tools'])
        memory.base_text, memory.base_version = event.data['base_text'], event.data['base_version']
        memory.prompt = event.data['prompt']

    def keep_draft(self, memory: AuthorMemory, event: Event) -> None:
        """Add the author's draft."""
        text, note = read_answer(str(event.data['text']))
        self._add(memory, ChartDraft(number=len(memory.drafts) + 1, text=text, by='author', note=note))

    def keep_rewrite(self, memory: AuthorMemory, event: Event) -> None:
        """Add the draft as a person has edited it."""
        text = str(event.data['text']).rstrip() + '\n'
        self._add(memory, ChartDraft(number=len(memory.drafts) + 1, text=text, by='person'))

    def store_findings(self, memory: AuthorMemory, event: Event) -> None:
        """Store what was found in the draft."""
        findings = tuple(map(Found.model_validate, event.data['findings']))
        worst = event.data['worst']
        memory.drafts[-1] = memory.drafts[-1].model_copy(
            update={
                'findings': findings,
                'chart': event.data['chart'],
                'worst': Worst.model_validate(worst) if worst else None,
            }
        )

    def store_trial(self, memory: AuthorMemory, event: Event) -> None:
        """Store how its simulated runs ended."""
        draft, findings = memory.drafts[-1], tuple(map(Found.model_validate, event.data['findings']))
        memory.drafts[-1] = draft.model_copy(
            update={'findings': (*draft.findings, *findings), 'tried': event.data['tried']}
        )
        memory.sound = memory.drafts[-1].sound

    def count_correction(self, memory: AuthorMemory, event: Event) -> None:
        """Send the draft back."""
        memory.corrections += 1

    def show(self, memory: AuthorMemory, event: Event) -> None:
        """A person sees the draft from now on."""
        memory.seen = True
        memory.wish = ''

    def store_wish(self, memory: AuthorMemory, event: Event) -> None:
        """Store what a person wants changed."""
        memory.wish = str(event.data['text'])
        memory.problem = ''

    def store_approval(self, memory: AuthorMemory, event: Event) -> None:
        """Store who approved the draft."""
        memory.approver, memory.approval = event.who, str(event.data.get('note', ''))
        memory.problem = ''

    def store_version(self, memory: AuthorMemory, event: Event) -> None:
        """Store the version it was saved as."""
        memory.version, memory.problem = str(event.data['version']), str(event.data['problem'])

    def store_problem(self, memory: AuthorMemory, event: Event) -> None:
        """Store why it could not be saved."""
        memory.problem = str(event.data.get('error') or event.name)

    def note_unsaved(self, memory: AuthorMemory, event: Event) -> None:
        """Say why there is a draft and no chart."""
        reason = f'discarded: {event.data["why"]}' if event.data.get('why') else 'discarded'
        memory.caveat = f'not saved: {memory.problem or reason}'

    def note_failure(self, memory: AuthorMemory, event: Event) -> None:
        """Say why there is no chart: what failed, or what is still wrong."""
        problem = event.data.get('error') or event.data.get('unfit')
        problems = memory.drafts[-1].serious if memory.drafts else []
        more = f' and {len(problems) - MAX_IN_CAVEAT} more' if len(problems) > MAX_IN_CAVEAT else ''
        still = f'still wrong: {"; ".join(problems[:MAX_IN_CAVEAT])}{more}' if problems else ''
        memory.caveat = str(problem or still or f'{event.at} {event.name}')

    def _add(self, memory: AuthorMemory, draft: ChartDraft) -> None:
        memory.drafts.append(draft)
        memory.answer, memory.sound = draft.text, False
