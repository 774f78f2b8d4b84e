"""Artifacts as readers see them: all of a step, and whole if they are too long to journal."""

import hashlib
from typing import Any

import pytest

from engine.history import whole_value
from engine.records import RunId
from engine.tools.artifacts import MAX_JOURNALED, make_artifact


class Contents:
    """The contents of one run, in memory."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    async def store(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self._contents[digest] = content
        return digest

    async def content(self, run: RunId, digest: str) -> bytes:
        return self._contents[digest]


@pytest.mark.parametrize(
    'value', ['brief', '"Ünï"\n' * MAX_JOURNALED, {'a': 1}, {'lines': ['ü'] * MAX_JOURNALED}, None]
)
async def test_the_whole_value_of_an_artifact_is_read(value: Any) -> None:
    contents: Any = Contents()
    artifact = (await make_artifact(value, 'tool', contents)).model_dump()
    assert await whole_value(contents, RunId('run'), artifact) == value


async def test_content_that_is_not_json_is_text() -> None:
    contents: Any = Contents()
    digest = await contents.store(b'plain \xff text')
    assert await whole_value(contents, RunId('run'), {'value': 'pl', 'kept': digest}) == 'plain \ufffd text'
