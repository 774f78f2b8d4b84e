"""Launch form parameters of the author, and what people send to its runs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from engine.patterns.form_fields import LongText, task_field
from engine.records.frozen import Form, Input

Name = Annotated[str, Field(max_length=60)]


LIMITS: dict[str, Any] = {'group': 'Limits'}


class AuthorParameters(Form):
    """What to write, from what, and within which limits."""

    request: str = task_field(
        'What you need',
        'The workflow in plain words: who does what, what is checked, when it ends',
        'Three writers draft a toast side by side, and a judge picks the best or sends all back, '
        'at most two rounds.',
    )
    base: Name = Field(
        '',
        title='Change this one',
        description='A chart or a pattern to begin with; leave empty for a new one',
    )
    run: Name = Field(
        '', title='A run that went wrong', description='Its id; the author is told what happened in it'
    )
    review: bool = Field(
        True, title='Ask me before it is saved', description='You see the diagram, the cost and every change'
    )
    tools: tuple[str, ...] = Field(
        (),
        max_length=100,
        title='Tools',
        description='What its agents may use; leave empty for all tools that need no approval',
        json_schema_extra=LIMITS,
    )
    rounds: int = Field(
        3,
        ge=0,
        le=10,
        title='Corrections',
        description='How often a draft may go back for what is wrong in it',
        json_schema_extra=LIMITS,
    )


class AcceptInput(Input):
    """A person's approval of the draft."""

    note: str = Field(
        '', max_length=500, title='Note', description='About this version, for those who see it'
    )


class ReviseInput(Input):
    """What the author should change."""

    text: LongText = Field(
        min_length=3, max_length=20_000, title='Changes', description='What should be different'
    )


class RewriteInput(Input):
    """The draft as a person has edited it; it is checked again."""

    text: LongText = Field(
        min_length=1, max_length=256 * 1024, title='Chart', description='The whole text of the file'
    )


class DiscardInput(Input):
    """The end of a run without a saved chart."""

    why: str = Field('', max_length=500, title='Why', description='For people who read the run later')


WAIT_TEXTS = {'review': 'your decision on the draft'}
INPUTS: dict[str, type[BaseModel]] = {
    'accept': AcceptInput,
    'revise': ReviseInput,
    'rewrite': RewriteInput,
    'discard': DiscardInput,
}
