"""Questions in a dialog: are you sure, and what a person says of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from nicegui import ui
from pydantic import BaseModel, ConfigDict, Field

from engine import EngineError, RunInfo
from ui.forms.form import Form
from ui.parts import Text, attach
from ui.theme import button

T = TypeVar('T')


class Said(BaseModel):
    """What a person says of a run."""

    model_config = ConfigDict(str_strip_whitespace=True)

    title: str = Field(min_length=1, max_length=200, title='Title')
    tags: list[str] = Field([], max_length=20, title='Tags', json_schema_extra={'inline': True})
    note: str = Field('', max_length=10_000, title='Note', json_schema_extra={'multiline': True})


@contextmanager
def framed(title: str) -> Iterator[ui.dialog]:
    """A dialog with its title; it stays where what it was asked for from is drawn anew, or taken away."""
    with ui.context.client.layout, ui.dialog() as dialog, ui.element('div').classes('card dialog'):
        heading = Text('h2', title)
        attach(dialog, aria_labelledby=heading.html_id)
        yield dialog


async def ask(title: str, text: str, *, yes: str, no: str, kind: str = 'danger') -> bool:
    """Whether the person is sure; the harmless answer has the focus."""
    with framed(title) as dialog:
        Text('p', text)
        with ui.element('div').classes('dialog-actions'):
            stay = button(no).on('click', lambda: dialog.submit(False))
            attach(stay, autofocus='')
            button(yes, kind=kind).on('click', lambda: dialog.submit(True))
    return bool(await settled(dialog))


def draw_saving(dialog: ui.dialog, form: Form, keep: str) -> None:
    """Draw the ends of a dialog with a form: it answers with what that holds; on `keep` with None."""

    def save() -> None:
        if (given := form.given()) is not None:
            dialog.submit(given)

    with ui.element('div').classes('dialog-actions'):
        button(keep).on('click', lambda: dialog.submit(None))
        button('Save', kind='primary').on('click', save)


async def edit(info: RunInfo) -> Said | None:
    """What is to be said of the run from now on, or None."""
    with framed('Edit title, tags and note') as dialog:
        form = Form(Said, on_change=lambda: None)
        form.set({'title': info.title, 'tags': info.tags, 'note': info.note})
        draw_saving(dialog, form, 'Keep as it was')
    return cast(Said | None, await settled(dialog))


async def settled(dialog: ui.dialog) -> object:
    """What was answered; None where the dialog, or the whole page, was closed."""
    answer: object = await dialog
    if not dialog.is_deleted:
        dialog.delete()
    return answer


async def told(work: Awaitable[T]) -> T | None:
    """Await the work; where it is refused, tell the person why and return None."""
    try:
        return await work
    except EngineError as error:
        ui.notify(str(error), type='negative', multi_line=True, timeout=8_000, close_button='Close')
        return None
