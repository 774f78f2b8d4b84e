"""A coder's seat: a person submits files in its place, which are tested like the coder's own."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import BaseModel, Field, field_validator

from engine.charts.seats import PERSON, Seat, names_seat
from engine.errors import ToolError
from engine.patterns.competition.records import Candidate, ContestMemory, FileEdit
from engine.patterns.form_fields import LongText
from engine.records import Event
from engine.records.frozen import Input
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import edge
from engine.workspace.confined_dir import split_path

WORK = 'work'
"""The input that a coder's region waits for while a person sits in its seat."""
MAX_TEXT = 400_000


class EditInput(Input):
    """A file that a person submits."""

    path: str = Field(min_length=1, title='Path', description='Relative to the folder of the coder')
    text: str | None = Field(
        None, max_length=MAX_TEXT, title='Content', description='The whole file; leave empty to remove it'
    )

    @field_validator('path')
    @classmethod
    def _is_inside(cls, value: str) -> str:
        try:
            return '/'.join(split_path(value))
        except ToolError as error:
            raise ValueError(str(error)) from None


class HandIn(Input):
    """The work of a person in a coder's seat."""

    seat: str = Field(title='Seat', description='Whose seat', examples=['coder1'])
    files: tuple[EditInput, ...] = Field(
        (), max_length=200, title='Files', description='Only those that change; all others stay as they are'
    )
    said: LongText = Field(
        '', max_length=20_000, title='Message', description='What you did, for the reviewers'
    )


INPUTS: dict[str, type[BaseModel]] = {'hand_in': HandIn}


def build_seat(me: str) -> tuple[list[Any], list[Any]]:
    """Return the states and edges for a person in a coder's seat; the region has `working` and `testing`."""
    seat = Seat(
        name=me,
        event='hand_in',
        waits=WORK,
        answer=partial(store_submission, me),
        conditions=partial(names_seat, me),
        agent='working',
        then='saving',
        everywhere=True,
    )
    states = [seat.state, {'name': 'saving', 'invoke': partial(save_submission, me)}]
    edges = [
        *seat.edges,
        ['done', 'saving', 'testing'],
        edge('failed', 'saving', PERSON, after=partial(record_problem, me)),
    ]
    return states, edges


async def save_submission(me: str, scope: CallbackContext, activity: Activity) -> dict[str, Any]:
    """Write the submitted files into the coder's folder.

    Raises:
        ToolError: a path cannot be written or removed.
    """
    folder = activity.workspace(me)
    for edit in candidate_of(scope, me).edits:
        if edit.text is None:
            await folder.remove(edit.path)
        else:
            await folder.write(edit.path, edit.text.encode())
    return {'snapshots': {me: await folder.snapshot()}}


def store_submission(me: str, scope: CallbackContext, event: Event) -> None:
    """Store a person's submission until it is written."""
    submission, candidate = HandIn.model_validate(dict(event.data)), candidate_of(scope, me)
    candidate.edits = tuple(FileEdit(path=file.path, text=file.text) for file in submission.files)
    candidate.said, candidate.model, candidate.problem = submission.said, '', ''


def record_problem(me: str, scope: CallbackContext, event: Event) -> None:
    """Record why the submission could not be written."""
    candidate_of(scope, me).problem = str(event.data.get('error') or 'it could not be written')


def candidate_of(scope: CallbackContext, coder: str) -> Candidate:
    """Return the coder's candidate from the run's memory."""
    memory = scope.state.memory
    assert isinstance(memory, ContestMemory)
    return memory.candidates[coder]
