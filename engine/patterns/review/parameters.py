"""Launch form parameters of a parallel review."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from engine.patterns.competition import coder_seat
from engine.patterns.competition.merging import Selection
from engine.patterns.debate import seats
from engine.patterns.form_fields import PROJECTS, FilesRule, LongText, files_field, task_field
from engine.records.frozen import Form, Input
from engine.workspace.project import check_project

PickRule = Literal['ranking', 'tests', 'person', 'model']
MergeRule = Literal['apart', 'one', 'files']
ConflictRule = Literal['ranked', 'fail', 'person']
TESTS: dict[str, Any] = {'group': 'Project and tests'}
DEBATE: dict[str, Any] = {'group': 'Debate and revisions'}
PICKING: dict[str, Any] = {'group': 'Merging'}
PICKS: dict[str, Any] = {
    'ranking': "The reviewers' ranking",
    'tests': 'The tests',
    'person': 'A person, who sees them side by side',
    'model': 'A model',
}
MERGES: dict[str, Any] = {
    'apart': 'Keep all apart',
    'one': 'Continue with the best one only',
    'files': 'Merge files of others into the best one',
}
RULES: dict[str, Any] = {
    'ranked': 'The first ranked wins',
    'fail': 'The run fails',
    'person': 'A person chooses the version',
}
TIMES: dict[str, Any] = {'group': 'Time-outs and failures'}
"""Groups of the form."""
DebateLimit = Annotated[int, Field(json_schema_extra=DEBATE)]
Seconds = Annotated[float, Field(gt=0, json_schema_extra=TIMES)]


class ReviewParameters(Form):
    """Participants, limits and rules."""

    task: str = task_field(
        'Task',
        'What to implement, in a sentence or a page',
        'Write a module that turns Roman numerals into numbers and back.',
    )
    coders: int = Field(3, ge=1, le=6, title='Coders', description='How many implement the task in parallel')
    reviewers: int = Field(
        2,
        ge=1,
        le=5,
        title='Reviewers',
        description='How many review and debate; a single one decides alone',
    )
    project: str = Field(
        '',
        title='Project',
        description='A folder that every coder starts from, or sample:NAME; leave empty for none',
        json_schema_extra={**TESTS, **PROJECTS},
    )
    files: FilesRule = files_field(**TESTS)
    tests: str = Field(
        '',
        title='Required tests',
        description='A folder of tests that coders cannot change, or sample:NAME; leave empty for none',
    )
    command: str = Field(
        '',
        max_length=2_000,
        title='Test command',
        description='Runs the required tests instead of pytest; exit status 0 means they pass',
        json_schema_extra=TESTS,
    )
    must_pass: bool = Field(
        True,
        title='Approval needs tests',
        description='Nothing is approved while its required tests fail; without any, its own tests count',
        json_schema_extra=TESTS,
    )
    max_revisions: DebateLimit = Field(
        2, ge=0, le=10, title='Revision limit', description='How often work may go back to the coders'
    )
    max_rounds: DebateLimit = Field(
        5, ge=1, le=10, title='Debate rounds', description='Without consensus by then, one is synthesized'
    )
    final_rounds: DebateLimit = Field(
        3, ge=1, le=10, title='Final review rounds', description='A shorter debate about the revision'
    )
    recent: DebateLimit = Field(
        4, ge=1, le=20, title='Messages shown', description='How many recent messages each reviewer sees'
    )
    pick: PickRule = Field(
        'ranking',
        title='Who picks the best',
        description='When several candidates remain; the run waits for a person',
        json_schema_extra={'labels': PICKS},
    )
    merge: MergeRule = Field(
        'apart',
        title='Merging',
        description='What happens to the others when one is picked',
        json_schema_extra=PICKING | {'labels': MERGES},
    )
    files_by: Literal['model', 'person'] = Field(
        'model',
        title='Who selects files',
        description='Who lists the files to merge into the best',
        json_schema_extra=PICKING,
    )
    conflicts: ConflictRule = Field(
        'ranked',
        title='File conflicts',
        description='When two coders’ versions of the same file are picked',
        json_schema_extra=PICKING | {'labels': RULES},
    )
    survivors: int = Field(
        1,
        ge=1,
        le=6,
        title='Minimum coders',
        description='With fewer implementations, the run fails',
        json_schema_extra=TIMES,
    )
    coder_seconds: Seconds = Field(
        1_800, le=86_400, title='Time per coder', description='Seconds; after that its work counts as failed'
    )
    reviewer_seconds: Seconds = Field(
        600, le=86_400, title='Time per turn', description='Seconds for one turn of a reviewer'
    )
    test_seconds: Seconds = Field(120, le=3_600, title='Test timeout', description='Seconds for one test run')
    answers: Literal['record', 'words'] = Field(
        'record',
        title='Answer format',
        description='Keywords are for models that cannot give structured answers',
        json_schema_extra=DEBATE
        | {'labels': {'record': 'Structured fields', 'words': 'Text with keywords at line starts'}},
    )

    _is_known = field_validator('project', 'tests')(check_project)

    @property
    def worktrees(self) -> bool:
        """Whether each agent gets a git worktree of the project."""
        return bool(self.project) and self.files == 'worktree'

    @property
    def copies(self) -> int:
        """How many copies of the project one folder holds: that of a reviewer, one of each coder's work."""
        return self.coders if self.answers == 'record' else 1

    @field_validator('survivors')
    @classmethod
    def _there_are_as_many(cls, value: int, info: ValidationInfo) -> int:
        if value > info.data.get('coders', 6):
            raise ValueError('there are not that many coders')
        return value


class ChooseInput(Input):
    """The implementation that a person chooses."""

    candidate: str = Field(title='Implementation', description='Its name', examples=['coder1'])
    why: str = Field('', max_length=2_000, title='Why', description='For people who read the run later')


class TakeFilesInput(Input):
    """The files that a person merges into the best implementation."""

    files: tuple[Selection, ...] = Field(
        (), title='Files', description='Each with its coder; leave empty to take none'
    )
    why: str = Field('', max_length=2_000, title='Why', description='For people who read the run later')


class ResolveInput(Input):
    """The coder whose file to use, for each path in conflict."""

    files: dict[str, str] = Field(title='Files', description='Whose version to use, by path')


class CommentInput(Input):
    """A person's comment on a line of a candidate's newest version."""

    candidate: str = Field(title='Implementation', description='Whose', examples=['coder1'])
    path: str = Field(title='File', description='Relative to the folder of the coder')
    line: int = Field(ge=1, title='Line', description='Its number')
    text: LongText = Field(
        min_length=1, max_length=2_000, title='Comment', description='What the coder should do there'
    )


WAIT_TEXTS = {
    'choice': 'your choice',
    'conflicts': 'your decision on conflicts',
    'files': 'your choice of files',
    'word': 'your statement',
    'work': 'your changes',
}
INPUTS: dict[str, type[BaseModel]] = {
    'comment': CommentInput,
    **seats.INPUTS,
    **coder_seat.INPUTS,
    'choose': ChooseInput,
    'take_files': TakeFilesInput,
    'resolve': ResolveInput,
}
