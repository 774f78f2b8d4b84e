"""Dialogs: confirmations, and a person's details of a run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from nicegui import ui
from pydantic import BaseModel, ConfigDict, Field

from engine import EngineError, InvalidInput
from engine.records import MAX_NOTE, MAX_TAGS, MAX_TITLE, RunInfo
from ui.formatting.steps import role_title
from ui.web.components.forms.form import Form
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes

T = TypeVar('T')


class RunDetails(BaseModel):
    """The details of a run that a person can edit."""

    model_config = ConfigDict(str_strip_whitespace=True)

    title: str = Field(min_length=1, max_length=MAX_TITLE, title='Title')
    tags: list[str] = Field([], max_length=MAX_TAGS, title='Tags', json_schema_extra={'inline': True})
    note: str = Field('', max_length=MAX_NOTE, title='Note', json_schema_extra={'multiline': True})


@contextmanager
def dialog_frame(title: str, kind: str = '') -> Iterator[ui.dialog]:
    """Draw a dialog (`wide` for long forms) with a title; its first field has the focus.

    It outlives the element that opened it.
    """
    with ui.context.client.layout, ui.dialog() as dialog, Box(f'card dialog {kind}'):
        heading = Text('h2', title)
        set_attributes(dialog, aria_labelledby=heading.html_id)
        yield dialog
    parts = list(dialog.descendants())
    fields = [part for part in parts if isinstance(part, ui.input | ui.textarea | NativeSelect)]
    if fields and not any('autofocus' in part.props for part in parts):
        fields[0].props('data-autofocus')


async def confirm(title: str, text: str, *, yes: str, no: str) -> bool:
    """Ask a person, and return whether they confirm; the safe answer has the focus."""
    with dialog_frame(title) as dialog:
        Text('p', text)
        with Box('dialog-actions'):
            button(no, autofocus='').on('click', lambda: dialog.submit(False))
            button(yes, kind='primary').on('click', lambda: dialog.submit(True))
    return bool(await await_answer(dialog))


def draw_dialog_actions(dialog: ui.dialog, text: str, act: Callable[[], Any]) -> ui.element:
    """Draw the buttons of a dialog: Cancel, which answers None, and one that calls `act`; return that one."""
    with Box('dialog-actions'):
        button('Cancel').on('click', lambda: dialog.submit(None))
        return button(text, kind='primary').on('click', act)


def draw_form_actions(dialog: ui.dialog, form: Form) -> None:
    """Draw the buttons of a dialog with a form: Save submits its content."""

    def save() -> None:
        if (values := form.submit()) is not None:
            dialog.submit(values)

    draw_dialog_actions(dialog, 'Save', save)


async def show_secret(title: str, explanation: str, secret: str) -> None:
    """Show a secret that is shown only once, until the person has saved it."""
    with dialog_frame(title) as dialog:
        Text('p', f'{explanation} It is shown only once.')
        Text('code', secret, 'secret')
        with Box('dialog-actions'):
            button('I have saved it', kind='primary').on('click', lambda: dialog.submit(True))
    await await_answer(dialog)


async def edit_details(info: RunInfo) -> RunDetails | None:
    """Ask for new details of the run; None if the dialog is cancelled."""
    with dialog_frame('Edit title, tags and note') as dialog:
        form = Form(RunDetails, on_change=lambda: None)
        form.set_values({'title': info.title, 'tags': info.tags, 'note': info.note})
        draw_form_actions(dialog, form)
    return cast(RunDetails | None, await await_answer(dialog))


def event_help(model: type[BaseModel] | None) -> str:
    """Return what an event does, from the docstring of its data; '' if it has none."""
    return ' '.join((inspect.getdoc(model) or '').split()) if model else ''


async def ask_event(
    event: str, model: type[BaseModel], send: Callable[[dict[str, Any]], Awaitable[object]]
) -> bool:
    """Ask for an event's data, send it as JSON values, and return whether it was sent.

    The dialog stays open while fields are wrong; any other refusal closes it and is shown.
    """
    title = role_title(event)
    with dialog_frame(title if model.model_fields else f'{title}?') as dialog:
        Text('p', event_help(model))
        form = Form(model, on_change=lambda: None)

        async def submit() -> None:
            if (values := form.submit()) is None:
                return
            try:
                await send(values.model_dump(mode='json'))
            except InvalidInput as error:
                form.show_problems(error.problems)
                form.focus_problem()
            except EngineError as error:
                notify_error(error)
                dialog.submit(False)
            else:
                dialog.submit(True)

        draw_dialog_actions(dialog, title, submit)
    return await await_answer(dialog) is True


async def await_answer(dialog: ui.dialog) -> object:
    """Return the dialog's answer; None if the dialog or the page was closed."""
    answer: object = await dialog
    if not dialog.is_deleted:
        dialog.delete()
    return answer


async def notify_errors(work: Awaitable[T]) -> T | None:
    """Await the work; if it is refused, show the person why and return None."""
    try:
        return await work
    except EngineError as error:
        notify_error(error)
        return None


def notify_error(error: EngineError) -> None:
    """Show the person why something is refused."""
    ui.notify(str(error), type='negative', multi_line=True, timeout=8_000, close_button='Close')
