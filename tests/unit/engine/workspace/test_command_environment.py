"""The environment of a command, before the sandbox adds to it."""

import pytest

from engine.workspace.sandbox.bubblewrap import environment


def test_only_the_pytest_plugin_variable_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('PYTEST_DISABLE_PLUGIN_AUTOLOAD', raising=False)
    monkeypatch.setenv('SOME_API_KEY', 'secret')
    without = environment()
    monkeypatch.setenv('PYTEST_DISABLE_PLUGIN_AUTOLOAD', '1')
    assert environment() == without | {'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1'}
    assert 'SOME_API_KEY' not in without
