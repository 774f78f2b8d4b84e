"""What people send to a parallel review: their choice, lists of files, and words in a reviewer's seat."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from engine.contest.merging import Pick
from engine.debate import seats


class Chosen(BaseModel):
    """Which implementation a person chooses."""

    model_config = ConfigDict(extra='forbid')

    candidate: str = Field(title='Implementation', description='Its name', examples=['coder1'])
    why: str = Field('', max_length=2_000, title='Why', description='For those who read the run later')


class Files(BaseModel):
    """Which files a person takes over into the best implementation."""

    model_config = ConfigDict(extra='forbid')

    files: tuple[Pick, ...] = Field((), title='Files', description='Each with whose it is; none to take none')
    why: str = Field('', max_length=2_000, title='Why', description='For those who read the run later')


class Resolved(BaseModel):
    """Whose file each path in conflict is to be."""

    model_config = ConfigDict(extra='forbid')

    files: dict[str, str] = Field(title='Files', description='Per path, whose file it is to be')


INPUTS: dict[str, type[BaseModel]] = {
    **seats.INPUTS,
    'choose': Chosen,
    'take_files': Files,
    'resolve': Resolved,
}
