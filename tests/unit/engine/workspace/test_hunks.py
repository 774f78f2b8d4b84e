"""Only selected hunks of a diff are applied, whatever their lines contain."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import WorkspaceError
from engine.workspace import apply_hunks, split_hunks
from engine.workspace.diff import _split_lines

LINES = ['a', 'b', '', '-x', '+y', '@@ z', '\\ n', ' s']
TEXTS = st.lists(st.sampled_from(LINES), max_size=30).map('\n'.join)


def diff(before: str, after: str) -> str:
    return ''.join(difflib.unified_diff(_split_lines(before), _split_lines(after), 'a/f', 'b/f'))


@given(TEXTS, TEXTS)
def test_all_hunks_give_the_new_file_and_none_the_old(before, after):
    hunks = split_hunks(diff(before, after))
    assert apply_hunks(before, hunks) == after
    assert apply_hunks(before, []) == before


def test_one_of_two_changes_is_applied():
    before = ''.join(f'{number}\n' for number in range(40))
    after = before.replace('\n3\n', '\nthree\n').replace('\n30\n', '\nthirty\n')
    first, second = split_hunks(diff(before, after))
    assert apply_hunks(before, [second]) == before.replace('\n30\n', '\nthirty\n')
    with pytest.raises(WorkspaceError, match='the change at line 1 does not apply'):
        apply_hunks('other\n', [first])
