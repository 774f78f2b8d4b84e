"""Forms in a simulated browser: fields that have no effect."""

from typing import Literal

from nicegui import ui
from pydantic import BaseModel, Field

from tests.support.pages.clicks import control, enter, see
from ui.web.components.forms.form import Form


class Connection(BaseModel):
    kind: Literal['program', 'address'] = Field('program', title='Kind')
    seconds: float = Field(5.0, title='Seconds', gt=0, json_schema_extra={'when': {'kind': ['program']}})


async def test_a_hidden_field_counts_as_its_default_and_keeps_its_content(pages):
    submitted = []

    @ui.page('/form')
    def show():
        form = Form(Connection, on_change=lambda: None)
        ui.button('Submit', on_click=lambda: submitted.append(form.submit()))

    await pages.open('/form')
    enter(pages, 'Seconds', '-1')
    await see(pages, 'Enter more than 0.')
    enter(pages, 'Kind', 'address')
    pages.find('Submit').click()
    assert submitted == [Connection(kind='address')]
    enter(pages, 'Kind', 'program')
    assert control(pages, 'Seconds').value == '-1'
