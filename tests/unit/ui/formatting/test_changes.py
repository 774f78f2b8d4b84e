"""Values and changes of run data, formatted for people."""

import json

import pytest

from ui.formatting.changes import (
    change_title,
    format_number,
    value_html,
    value_text,
    wordings,
)


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        (0.30000000000000004, '0.3'),
        (2 / 3, '0.666667'),
        (3.0, '3'),
        (1234567.891, '1,234,568'),
        (-0.5, '-0.5'),
    ],
)
def test_a_number_has_at_most_six_digits(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ('pointer', 'title'),
    [
        ('/memory/status', 'memory › status'),  # noqa: RUF001
        ('/agents/executing.working/messages/-', 'agents › executing › working › messages · added'),  # noqa: RUF001
    ],
)
def test_a_changed_field_has_a_title(pointer, title):
    assert change_title(pointer) == title


def test_a_value_is_written_without_json():
    text = value_text({'score': 2 / 3, 'is_done': True, 'steps': [{'id': 'a', 'after': []}, {'id': 'b'}]})
    assert text.splitlines() == [
        'score: 0.666667',
        'is done: yes',
        'steps:',
        '  • id: a',
        '    after: none',
        '  • id: b',
    ]


def test_a_call_in_an_audit_trail_is_written_without_json():
    entry = {'sender': 'researcher', 'content': """'{"expression": "1/0"}': failed: 'x'"""}
    assert value_text(entry) == 'sender: researcher\ncontent: expression: 1/0 → failed: x'


def test_a_message_says_who_said_what():
    call = {'kind': 'call', 'id': '1', 'name': 'notes', 'arguments': '{}'}
    message = {'role': 'assistant', 'parts': [{'kind': 'text', 'text': 'I look.'}, call]}
    assert value_text(message) == 'Reply\nI look.\nCalls notes'
    part = {'kind': 'call', 'id': '2', 'name': 'calculator', 'arguments': '{"expression": "2 + 2"}'}
    assert value_text({'role': 'assistant', 'parts': [part]}) == 'Reply\nCalls calculator (expression: 2 + 2)'
    answer = {'kind': 'text', 'text': '{"approved": true, "depends_on": []}'}
    assert value_text({'role': 'assistant', 'parts': [answer]}) == 'Reply\napproved: yes\ndepends on: none'
    answered = {
        'role': 'tool',
        'parts': [{'kind': 'result', 'id': '1', 'name': 'notes', 'text': 'None yet.'}],
    }
    assert value_text(answered) == 'Results\nnotes: None yet.'


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        ('REVISE_BEST', 'revise best'),
        ('NEEDS_REVIEW', 'needs review'),
        ('CSV', 'CSV'),
        ('JSON', 'JSON'),
        ('write_file', 'write_file'),
        ('I am DONE.', 'I am DONE.'),
        ('{"expression": "1/3", "digits": 4}', 'expression: 1/3\ndigits: 4'),
        ('{not JSON', '{not JSON'),
        ('[see](there)', '[see](there)'),
        ({'name': 'a', 'model': '', 'answer': None, 'after': []}, 'name: a\nafter: none'),
        ({'model': ''}, 'empty'),
        ({'task': {'content': '{"expression": "6*7"}'}}, 'task:\n  content:\n    expression: 6*7'),
    ],
)
def test_program_values_are_written_for_people(value, text):
    assert value_text(value) == text


def test_a_name_with_its_answer_is_one_line_and_a_kind_is_in_words():
    assert value_text({'gates': [['is_tested', True], ['is_sound', False]]}) == (
        'gates:\n  • is_tested: yes\n  • is_sound: no'
    )
    assert value_text({'kind': 'tool_call', 'by': 'run_tests'}) == 'kind: tool call\nby: run_tests'


def test_each_line_has_its_depth_and_text_is_escaped():
    text = value_html({'steps': [{'id': '<b>'}]})
    assert text == '<div style="--depth: 0">steps:</div><div style="--depth: 2">• id: &lt;b&gt;</div>'


def test_a_word_in_capitals_is_a_constant_where_a_field_says_a_state():
    assert value_text('SHIPPED', 'order_status') == 'shipped'
    assert value_text('in_progress', 'status') == 'in progress'
    assert value_text('ESCALATION', 'type') == 'escalation'
    assert value_text({'level': 'REMIND'}) == 'level: remind'
    assert value_text({'status': 'SHIPPED', 'format': 'XHTML'}) == 'status: shipped\nformat: XHTML'
    assert wordings({'outcome': 'LATE', 'states': {'SQL': 'SQL'}}) == {'LATE': 'late'}
    assert value_text('I AM DONE', 'status') == 'I AM DONE', 'a text is left as it is'


def test_constants_are_put_in_words():
    document = {'memory': {'status': 'COMPLETE', 'steps': [{'status': 'in_progress'}], 'format': 'JSON'}}
    assert wordings(document) == {'COMPLETE': 'complete', 'in_progress': 'in progress'}


def test_messages_in_a_value_are_put_in_words():
    system = {'role': 'system', 'parts': [{'kind': 'text', 'text': 'You plan.'}]}
    text = value_text({'role': 'planner', 'messages': [system], 'a': {'b': {'c': {'d': 1}}}})
    assert text.splitlines() == [
        'role: planner',
        'messages:',
        '  • Instructions: You plan.',
        'a:',
        '  b:',
        '    c: 1 entry',
    ]


def test_long_and_deep_values_are_counted():
    text = value_text({'list': list(range(100)), 'deep': {'a': {'b': {'c': {'d': 1}}}}})
    assert '… and 88 more' in text
    assert '1 entry' in text
    assert len(value_text({'text': 'x' * 1_000})) == 400
    assert json.dumps({'a': 1}) not in value_text({'x': {'a': 1}})
