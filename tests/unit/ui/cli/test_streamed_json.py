"""JSON that an agent streams, shown in the terminal as it arrives."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records import Delta, RunId
from ui.cli.output.reporters import ProgressReporter, readable

RUN = RunId('run')
FILE = json.dumps({'path': 'double.py', 'text': 'def double(x):\n    return 2 * x\n', 'executable': False})


def report(capsys: pytest.CaptureFixture[str], *pieces: tuple[str, str]) -> list[str]:
    reporter = ProgressReporter()
    for kind, text in pieces:
        reporter.piece(Delta(run=RUN, path='coder', kind=kind, text=text))  # type: ignore[arg-type]
    return [line.strip() for line in capsys.readouterr().err.splitlines()]


def test_the_arguments_of_a_tool_are_shown_as_they_grow(capsys: pytest.CaptureFixture[str]) -> None:
    cut = FILE.index('2 * x')
    pieces = [('call', 'write_file\n'), *(('arguments', letter) for letter in FILE[:cut])]
    assert report(capsys, *pieces) == [
        'coder │ calls write_file', 'coder │ path: double.py', 'coder │ text: def double(x):',
    ]  # fmt: skip


def test_structured_answers_are_shown_as_text_and_prose_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.dumps({'verdict': 'APPROVE', 'insists': ['tests', 'docs'], 'why': 'all is done'})
    assert report(capsys, *(('text', letter) for letter in answer)) == [
        'coder │ verdict: APPROVE', 'coder │ - tests', 'coder │ - docs',
    ]  # fmt: skip
    assert report(capsys, ('text', 'It is done.\n'), ('text', '{x} is a set.\n')) == [
        'coder │ It is done.', 'coder │ {x} is a set.',
    ]  # fmt: skip
    assert report(capsys, ('text', '{x}'), ('text', ' is a set.\n')) == ['coder │ {x} is a set.']


def test_a_restarted_reply_is_shown_from_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    pieces = [('text', '{"a": "one\\ntwo'), ('reset', ''), ('text', '{"a": "three\\nfour')]
    assert report(capsys, *pieces) == ['coder │ a: one', 'coder │ a: three']


VALUES = st.recursive(
    st.text(max_size=12) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1, max_size=4), VALUES, max_size=4))
def test_a_longer_document_only_extends_the_text(document: dict[str, object]) -> None:
    text, before = json.dumps(document, ensure_ascii=False), ''
    for end in range(1, len(text) + 1):
        now = readable(text[:end])
        assert now is not None and now.startswith(before), text[:end]
        before = now
