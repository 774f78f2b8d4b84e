"""hemicycle user: roles and passwords are changed, tokens added and removed, and each act is logged."""

from __future__ import annotations

import pytest

from tests.support.cli import Hemicycle, invoke, json_lines


@pytest.fixture
def hemicycle(hemicycle: Hemicycle) -> Hemicycle:
    invoke(hemicycle, 'user', 'add', 'root', '--no-password')
    invoke(hemicycle, 'user', 'add', 'ada', '--no-password')
    return hemicycle


def test_a_role_and_a_password_are_changed(hemicycle: Hemicycle) -> None:
    invoke(hemicycle, 'user', 'token', 'add', 'ada', 'ci')
    changed = hemicycle('user', 'change', 'ada', '--role', 'viewer', '--password', stdin='correct horse\n')
    assert (changed.exit_code, '1 token of ada still work' in changed.stdout) == (0, True), changed.output
    (account,) = (
        line for line in json_lines(invoke(hemicycle, 'user', 'list', '--json')) if line['name'] == 'ada'
    )
    assert (account['role'], account['login']) == ('viewer', 'password')
    options = ('--password', '--revoke-tokens')
    assert hemicycle('user', 'change', 'ada', *options, stdin='battery staple\n').stdout == ''
    assert json_lines(invoke(hemicycle, 'user', 'token', 'list', '--json')) == []
    logged = [line['action'] for line in json_lines(invoke(hemicycle, 'user', 'log', '--json'))]
    assert logged[:3] == ['account.set_password', 'account.set_password', 'account.set_role']


def test_a_token_is_removed(hemicycle: Hemicycle) -> None:
    invoke(hemicycle, 'user', 'token', 'add', 'ada', 'ci')
    (token,) = json_lines(invoke(hemicycle, 'user', 'token', 'list', 'ada', '--json'))
    assert invoke(hemicycle, 'user', 'token', 'remove', token['id']) == 'ci of ada is removed\n'
    assert json_lines(invoke(hemicycle, 'user', 'token', 'list', '--json')) == []
