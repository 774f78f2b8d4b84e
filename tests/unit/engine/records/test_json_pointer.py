"""JSON pointers: the examples of RFC 6901, section 5, and missing values."""

import pytest

from engine.records import escape_token, resolve_pointer, split_pointer

DOCUMENT = {'foo': ['bar', 'baz'], '': 0, 'a/b': 1, 'c%d': 2, 'm~n': 8, '~1': 9}


@pytest.mark.parametrize(
    ('pointer', 'value'),
    [('', DOCUMENT), ('/foo', ['bar', 'baz']), ('/foo/0', 'bar'), ('/', 0), ('/a~1b', 1), ('/c%d', 2),
     ('/m~0n', 8), ('/~01', 9), ('/foo/2', 'none'), ('/foo/x', 'none'), ('/gone/0', 'none'),
     ('/m~0n/0', 'none')],
)  # fmt: skip
def test_a_pointer_resolves_to_a_value_or_the_default(pointer, value):
    assert resolve_pointer(DOCUMENT, split_pointer(pointer), 'none') == value


def test_any_key_can_be_part_of_a_pointer():
    for key in DOCUMENT:
        assert split_pointer(f'/{escape_token(key)}') == [key]
    assert escape_token(7) == '7'
