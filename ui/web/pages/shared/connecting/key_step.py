"""The step that asks for a key: the form, and what the test says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine import EngineError, InvalidInput
from engine.models import KNOWN_PROVIDERS
from ui.web.components.forms.form import Form
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.shared.connecting.form import (
    Connection,
    form_model,
    problems_of,
    read_form,
    title_of,
)


class KeyStep:
    """Draws the step where it is created.

    Args:
        provider: a known one, or `OTHER`.
        name: the connection that is edited; '' for a new one.
        section: its section in the configuration file.
        place: where a key is kept, in a sentence.
    """

    def __init__(self, provider: str, name: str, section: Mapping[str, Any], place: str) -> None:
        self._provider, self._name = provider, name
        known = KNOWN_PROVIDERS.get(provider)
        with Box('connect-head'):
            Text('h3', title_of(provider))
            if known and known.key:
                text_link(known.keys_page, 'Get a key', 'small', target='_blank', rel='noopener noreferrer')
        model = form_model(provider, place=place, present=section if name else None)
        self.form = Form(model, on_change=lambda: None)
        self.form.set_values({entry: section[entry] for entry in ('url', 'models') if entry in section})
        with Box('test-result', role='status'):
            self._problem, self._remedy = Text('p', '', 'problem'), Text('p', '')

    def submit(self) -> Connection | None:
        """Return the connection; None if something is wrong, which is then shown."""
        filled = self.form.submit()
        if filled is None:
            return None
        if missing := problems_of(self._provider, filled, is_new=not self._name):
            self.form.show_problems(missing)
            self.form.focus_problem()
            return None
        return read_form(self._provider, filled, self._name)

    def say(self, problem: str, words: str = '') -> None:
        """Show a problem, and what to do or what is going on."""
        self._problem.show(problem)
        self._remedy.show(words)

    def show_refusal(self, error: EngineError) -> None:
        """Show why the connection is not saved, at the key if it is about that."""
        problem = error.problems.get('secret', '') if isinstance(error, InvalidInput) else ''
        self.say('' if problem else str(error))
        if problem:
            self.form.show_problems({'key': problem})
            self.form.focus_problem()
