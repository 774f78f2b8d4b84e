"""Forms in a simulated browser: fields that have no effect, and values inside lists and objects."""

from typing import Literal

from nicegui import ui
from pydantic import BaseModel, Field

from tests.support.pages.clicks import control, enter, labelled, press_labelled, see
from ui.web.components.forms.form import Form
from ui.web.components.forms.nested import NestedFields


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


async def test_values_inside_a_list_keep_their_kind_and_entries_come_and_go(pages):
    drafts = [{'text': 'Trams', 'score': 3, 'final': False, 'note': None}]
    drawn = []

    @ui.page('/nested')
    def show():
        drawn.append(NestedFields('Drafts', drafts))

    def write(label, text):
        with pages.client:
            labelled(pages, label)[0].set_value(text)

    await pages.open('/nested')
    write('Drafts, Entry 1, Text', 'Buses')
    write('Drafts, Entry 1, Score', '4.5')
    press_labelled(pages, 'Add entry: Drafts')
    write('Drafts, Entry 2, Text', 'Trains')
    write('Drafts, Entry 2, Score', 'many')
    assert drawn[-1].value == [
        {'text': 'Buses', 'score': 4.5, 'final': False, 'note': None},
        {'text': 'Trains', 'score': 'many', 'final': False, 'note': None},
    ]
    press_labelled(pages, 'Remove entry: Drafts, Entry 1')
    assert [draft['text'] for draft in drawn[-1].value] == ['Trains']
    assert drafts[0]['text'] == 'Trams'
