"""A question from a tool's server to a person: its text, a form, and the possible answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from engine import EngineError, InvalidInput
from engine.records import Question, answer_model
from ui.web.components.dialogs import notify_error
from ui.web.components.forms.form import Form
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, text_link

Answer = Callable[[str, dict[str, Any]], Awaitable[None]]
"""Answers the question of a state with these values. Raises `EngineError`."""


class QuestionForm:
    """Asks a person a question; hidden while there is none. Typed text stays until the question changes."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._shown: tuple[str, Question | None] = ('', None)
        self._form: Form | None = None
        self.root = Box('approval', role='group', aria_label='Question')
        self.root.set_visibility(False)

    def show(self, leaf: str, question: Question | None) -> None:
        """Show the question asked in state `leaf`; None hides it."""
        if (leaf, question) == self._shown:
            return
        self._shown, self._form = (leaf, question), None
        self.root.clear()
        self.root.set_visibility(question is not None)
        if question is not None:
            with self.root:
                self._draw(question)

    def focus(self) -> None:
        """Focus the first control of the answer, once it is visible."""
        first = f'getHtmlElement({self.root.id}).querySelector("input, textarea, select, a, button")'
        ui.run_javascript(f'setTimeout(() => {first}?.focus())')

    def _draw(self, question: Question) -> None:
        Text('p', f'{question.server} asks: {question.message}', 'approval-question')
        Text('p', 'Do not enter passwords or keys: the server is not part of Hemicycle.', 'muted small')
        if question.url:
            text_link(
                question.url,
                question.url,
                'btn',
                icon='open_in_new',
                target='_blank',
                rel='noopener noreferrer',
            )
        elif question.fields.get('properties'):
            self._form = Form(answer_model(question.fields), on_change=lambda: None)
        with Box('approval-answers'):
            yes = 'Done' if question.url else 'Send answer'
            button(yes, icon='check', kind='primary', requires='send').on('click', self._accept)
            decline = button('Decline', icon='block', requires='send')
            decline.on('click', lambda: self._send(action='decline'))
            cancel = button('Cancel the question', kind='quiet', requires='send')
            cancel.on('click', lambda: self._send(action='cancel'))

    async def _accept(self) -> None:
        if self._form is None:
            await self._send(action='accept')
        elif (answers := self._form.submit()) is not None:
            content = answers.model_dump(mode='json', by_alias=True, exclude_none=True)
            await self._send(action='accept', content=content)

    async def _send(self, **data: Any) -> None:
        try:
            await self._answer(self._shown[0], data)
        except InvalidInput as error:
            problems = {name.removeprefix('content.'): problem for name, problem in error.problems.items()}
            if self._form:
                self._form.show_problems(problems)
                self._form.focus_problem()
        except EngineError as error:
            notify_error(error)
