"""Shared parts of launch forms: long texts, and the task and project fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from engine.workspace.project import samples

PROJECTS: dict[str, Any] = {'suggestions': samples()}
"""Suggestions for a form field that accepts a folder: the sample projects."""


LongText = Annotated[str, Field(json_schema_extra={'multiline': True})]
"""A form field for a text of several lines."""


def task_field(title: str, description: str, example: str) -> Any:
    """Return a field for the agents' task: a sentence or a page, 3 to 20,000 characters."""
    return Field(
        min_length=3,
        max_length=20_000,
        title=title,
        description=description,
        examples=[example],
        json_schema_extra={'multiline': True},
    )


def project_field(example: str) -> Any:
    """Return a field for the project an agent works on; `example` is also the default."""
    return Field(
        example,
        min_length=1,
        max_length=4_000,
        title='Project',
        description='A folder on this machine (the agent gets a copy), or sample:NAME',
        json_schema_extra={**PROJECTS, 'format': 'path'},
    )


FilesRule = Literal['worktree', 'copy']
FILES: dict[str, Any] = {
    'worktree': 'A git worktree on its own branch',
    'copy': 'A copy of all files, without git',
}


def files_field(**more: Any) -> Any:
    """Return a field for how several agents get a project; `more` extends its JSON schema."""
    return Field(
        'worktree',
        title='Each agent gets',
        description='For a project; your own branches and files do not change until you merge',
        json_schema_extra={**more, 'labels': FILES},
    )
