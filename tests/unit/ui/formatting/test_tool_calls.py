"""Tool calls in one line: no JSON and no quotes where people read."""

import json

import pytest

from engine.records.jsonable import shorten
from ui.formatting.tool_calls import call_line, logged_call, result_line


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        ('{"expression": "2 * 3"}', 'expression: 2 * 3'),
        ('{"action": "write", "lines": 3, "dry_run": true}', 'action: write · lines: 3 · dry run: true'),
        ('{"where": {"x": 0.1234567890123, "of": []}}', 'where: x: 0.123457, of: none'),
        ('{"tracks": [{"at": 0, "title": "In"}, {"at": 9}]}', 'tracks: at: 0, title: In; at: 9'),
        ('{"title": "Plan", "text": "1. What does', 'title: Plan · text: 1. What does'),
        ('{"items": ["a", "b', 'items: a, b'),
        ('{"title": "A \\"B\\"", "n', 'title: A "B"'),
        ('{}', ''),
        ('not JSON', 'not JSON'),
    ],
)
def test_call_arguments_are_one_line(arguments, text):
    assert call_line(arguments) == text


def test_a_result_is_summarized():
    assert result_line({'ok': True, 'text': 'a\nb'}) == 'a b'
    assert result_line({'ok': False, 'text': 'no such file'}) == 'failed: no such file'


def test_calls_in_an_audit_trail_are_readable():
    arguments = json.dumps({'action': 'write', 'text': "it's " * 80})
    line = logged_call(f'{shorten(arguments)}: ok: {shorten("kept")}')
    assert line.startswith("action: write · text: it's it's ")
    assert line.endswith(' → kept')
    assert '{' not in line
    failed = logged_call(f'{shorten(json.dumps({"expression": "1/0"}))}: failed: {shorten("x: ok: 1")}')
    assert failed == 'expression: 1/0 → failed: x: ok: 1'
    assert logged_call(f'{shorten("{}")}: ok: {shorten("long " * 90)}').endswith('…')
    for other in ('plain text', ': ok: ', "'a': maybe: 'b'"):
        assert logged_call(other) == other
