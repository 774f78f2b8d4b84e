"""What tests of the launch page share."""

import pytest

from ui.web.pages.launch import page
from ui.web.pages.launch.form import LaunchForm


@pytest.fixture
def launchers(monkeypatch):
    """The launchers created by pages, newest last."""
    dialogs = []

    class Kept(LaunchForm):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            dialogs.append(self)

    monkeypatch.setattr(page, 'LaunchForm', Kept)
    return dialogs
