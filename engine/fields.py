"""What the launch forms of many patterns have: a base, and the fields for the task and the project."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Form(BaseModel):
    """Base of what a person fills in: no other field is taken, and blanks around a text do not count."""

    model_config = ConfigDict(extra='forbid', str_strip_whitespace=True)


def task_field(title: str, description: str, example: str) -> Any:
    """What the agents are to do: a sentence or a page, 3 to 20,000 characters."""
    return Field(
        min_length=3,
        max_length=20_000,
        title=title,
        description=description,
        examples=[example],
        json_schema_extra={'multiline': True},
    )


def project_field(example: str) -> Any:
    """The project that an agent works on; `example` is also what it is by default."""
    return Field(
        example,
        min_length=1,
        max_length=4_000,
        title='Project',
        description='A folder on this machine, of which the agent gets a copy; or sample: and a name',
    )
