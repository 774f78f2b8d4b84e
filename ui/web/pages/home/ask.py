"""The field in which a person says what should be done; the pattern is suggested, with the reasons."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from ui.app.backend import Backend
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text, text_input
from ui.web.pages.home.choice import Choice, choose
from ui.web.routing import launch_path

MAX_TASK = 2_000
"""The most characters of a task: it is part of an address."""
QUESTION = 'What should be done?'
ON_ENTER = '(event) => { if (event.key === "Enter") emit(event.target.value); }'


class AskField:
    """One field; Enter opens the form of the suggested pattern with the task filled in."""

    def __init__(self, backend: Backend, default: str) -> None:
        """Draw it; `default` is the pattern for tasks whose words speak for none."""
        self._patterns, self._default = backend().catalog.patterns, default
        with Box('section', 'section', aria_labelledby='ask'), Box('card ask-desk'):
            Text('h2', QUESTION, id='ask')
            with Box('ask-line'):
                self._field = text_input(
                    maxlength=str(MAX_TASK), aria_labelledby='ask', placeholder='A task, in your words'
                )
                self._field.props('debounce=200').on_value_change(lambda _: self._show())
                self._field.on('keydown', lambda event: self._open(str(event.args)), js_handler=ON_ENTER)
                self._go = button('Continue…', kind='primary', requires='start')
                self._go.on('click', lambda: self._open(str(self._field.value or '')))
            self._why = CachedElement('ask-why small', 'p', role='status')
        self._show()

    @property
    def element(self) -> ui.element:
        """The field, for a link that skips to it."""
        return self._field

    def _choice(self, task: str) -> Choice:
        return choose(task, self._patterns, self._default)

    def _show(self) -> None:
        task = str(self._field.value or '').strip()
        choice = self._choice(task) if task else None
        if not self._why.clear_if_changed(choice):
            return
        with self._why:
            if choice is None:
                Text(
                    'span',
                    'Hemicycle suggests a pattern by the words of the task. No model is asked.',
                    'muted',
                )
                return
            Text('b', self._patterns[choice.pattern].title)
            Text('span', f' {why(choice)}', 'muted')
            for name in choice.others:
                other = button(f'{self._patterns[name].title} instead', kind='quiet small', requires='start')
                other.on('click', partial(self._open_with, name))

    def _open_with(self, pattern: str) -> None:
        ui.navigate.to(launch_path(pattern, str(self._field.value or '').strip()))

    def _open(self, task: str) -> None:
        if task.strip() and 'disabled' not in self._go.props:
            ui.navigate.to(launch_path(self._choice(task).pattern, task.strip()))
        else:
            self._field.run_method('focus')


def why(choice: Choice) -> str:
    """Return why a pattern was chosen, as a sentence after its title."""
    if not choice.words:
        return 'is a good start: no word of the task points elsewhere.'
    *first, last = (f'“{word}”' for word in choice.words)
    named = f'{", ".join(first)} and {last}' if first else last
    return f'because the task says {named}.'
