"""The house style: every part of the pages in every state, for who changes them; only with `--dev`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from nicegui import ui
from pydantic import BaseModel, Field

from engine import Status
from engine.records import Question, RunQuery
from ui.app.backend import Backend
from ui.app.colours import MEANINGS, TONES
from ui.formatting.diagram.folding import default_folds
from ui.formatting.diagram.rendering import svg
from ui.formatting.results.blocks import Bar, Bars, Block, Fact, Facts, Points, Remark, Remarks, Row, Rows
from ui.formatting.steps import duration
from ui.web.components.diagram.legend import legend
from ui.web.components.dialogs import confirm
from ui.web.components.elements import Conversation, Diagram
from ui.web.components.forms.form import Form
from ui.web.components.menus import PickerItem, picker
from ui.web.components.tabs import Tabs
from ui.web.components.theme import (
    ORIGINS,
    button,
    empty_state,
    frame,
    origin_chip,
    page_head,
    pill,
    section_head,
    text_notice,
)
from ui.web.components.widgets import Box, Text
from ui.web.pages.shared.account_parts import table
from ui.web.pages.shared.run.lane_bar import LaneBar, LaneMoment
from ui.web.pages.shared.run.question import QuestionForm
from ui.web.pages.shared.run.result_blocks import draw_block
from ui.web.replay.index import shared_index
from ui.web.routing import serve_page

PATTERN = 'pipeline'
CHART: dict[str, Any] = {
    'active': ['analyzing', 'reviewing'],
    'inside': [],
    'visited': ['pending', 'researching'],
    'waiting': ['reviewing'],
    'broken': ['failed'],
    'halted': [],
    'taken': ['researching>analyzing'],
    'traversed': ['pending>researching'],
}
CALLS = (('waiting', 'asks'), ('running', 'runs'), ('ok', 'done'), ('failed', 'failed'), ('denied', 'denied'))
QUESTION = Question(
    call='1',
    server='calendar',
    message='Which day?',
    fields={'properties': {'day': {'type': 'string', 'title': 'Day'}}},
)


RESULT: tuple[Block, ...] = (
    Facts(
        facts=(
            Fact(name='Goal', words='reached', tone='good'),
            Fact(name='Tests', words='3 failed', tone='bad'),
        )
    ),
    Bars(
        title='Votes',
        most=3,
        bars=(
            Bar(label='Composite', value=2, words='2 votes', tone='good'),
            Bar(label='Prime', value=1, words='1 vote', note='Voter 3'),
        ),
    ),
    Rows(
        title='Places',
        rows=(
            Row(mark='1st', name='racer2', facts=('18 passed',), note='Done.', tone='good', chosen=True),
            Row(mark='2nd', name='racer1', facts=('15 passed, 3 failed',), note='Almost.', tone='bad'),
        ),
    ),
    Points(title='Open points', points=('Nobody has tried it with empty input.',)),
    Remarks(
        remarks=(
            Remark(file='sums.py', line=3, severity='high', text='It rounds.', suggestion='Use Decimal.'),
        )
    ),
)


class Sample(BaseModel):
    """A form with one field of each kind, some of them wrong."""

    name: Annotated[str, Field(title='Name', min_length=3)] = 'No'
    count: Annotated[int, Field(title='Count', ge=1, le=10)] = 30
    mode: Annotated[Literal['fast', 'thorough'], Field(title='Mode')] = 'fast'
    notify: Annotated[bool, Field(title='Notify me')] = True


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page('/style')
    async def style() -> None:
        with frame('House style', of_runs=True):
            page_head(
                'House style', 'Every part in every state. Pages are made of these, and of nothing else.'
            )
            for title, draw in SECTIONS:
                with _section(title):
                    draw()
            with _section('Diagram'):
                await _draw_diagram(backend)
            with _section('Lanes'):
                await _draw_lanes(backend)


def _section(title: str) -> ui.element:
    name = title.lower()
    section = Box('section', 'section', aria_labelledby=name)
    with section:
        section_head(title, name)
    return section


def _draw_colours() -> None:
    with Box('style-swatches'):
        for name, meaning in MEANINGS.items():
            shade = f'background: var(--{name}-soft); color: var(--{name}); border-color: var(--{name})'
            Text('span', meaning.words, 'style-swatch').style(shade)
    with Box('style-swatches'):
        for name in TONES:
            with Box('style-swatch'):
                Box('style-tone', 'span').style(f'background: var(--{name})')
                Text('span', name, 'mono')


def _draw_type() -> None:
    for size in ('title', 'large', 'base', 'small'):
        with Box('style-row'):
            for weight, words in (('bold', '600'), ('medium', '500'), ('', '400')):
                font = f'font-size: var(--{size}); font-weight: {f"var(--{weight})" if weight else 400}'
                Text('span', f'{size.title()} {words}: 0123456789', 'style-type').style(font)
    Text('code', 'code: 0123456789 != fi')


def _draw_buttons() -> None:
    for size in ('', 'small'):
        with Box('style-row'):
            button('Primary', icon='play_arrow', kind=f'primary {size}')
            button('Plain', kind=size)
            button('Quiet', kind=f'quiet {size}')
            button('Disabled', kind=size, disabled=True)
            button('Pressed', kind=f'picked {size}', aria_pressed='true')
            button('', icon='call_split', kind=f'quiet {size}', label='Icon')
    with Box('style-row'):
        button('Dialog').on('click', _open_dialog)
        button('Message').on('click', lambda: ui.notify('It is done', type='positive'))
        button('Error').on('click', lambda: ui.notify('It failed', type='negative'))
        entry = PickerItem(title='An entry', note='with a note', on_choose=lambda: None)
        picker('Menu', 'more_horiz', [entry, entry])


async def _open_dialog() -> None:
    await confirm(
        'Cancel this run?', 'Work in progress stops immediately.', yes='Cancel run', no='Keep running'
    )


def _draw_statuses() -> None:
    with Box('style-row'):
        for status in Status:
            pill(status)
        pill(Status.DONE, 'the revision limit was reached')
    with Box('style-row'):
        for origin in ORIGINS:
            origin_chip(origin)
        for kind in ('', 'tag', 'pinned', 'strong', 'wait', 'sim'):
            Text('span', kind or 'chip', f'chip {kind}')


def _draw_messages() -> None:
    text_notice('info', 'info', 'Something to know.')
    text_notice('wait', 'front_hand', 'Something that needs you.')
    text_notice('fail', 'error_outline', 'Something that failed.')
    with Box('card'):
        empty_state('inbox', 'Nothing here yet.')


def _draw_form() -> None:
    with Box('style-narrow'):
        Form(Sample, on_change=lambda: None).check()


def _draw_table() -> None:
    with table(('Name', 'Steps', 'Cost', ''), 'Example') as rows:
        for name, steps, cost in (('First', '29', '$0.02'), ('Second', '1,106', '$1.40')):
            with rows.row(name, steps, cost), rows.actions():
                button('Open', kind='small')


def _draw_tabs() -> None:
    with Box('panel'):
        tabs = Tabs('Example')
        for title in ('One', 'Asks', 'New'):
            with tabs.panel(title):
                Text('p', f'The panel of {title}.', 'style-panel')
        tabs.set_note('Asks', 'asks you')
        tabs.mark_new('New')


def _draw_conversation() -> None:
    calls: list[dict[str, Any]] = [
        {'kind': 'tool', 'title': 'run_tests', 'note': note, 'state': state, 'arguments': {}}
        for state, note in CALLS
    ]
    blocks = [
        {'kind': 'task', 'title': 'Task', 'text': 'Add up the numbers.'},
        {'kind': 'reasoning', 'title': 'Thinking', 'text': 'There are two.'},
        {'kind': 'text', 'text': 'The sum is **4**.'},
        *calls,
        {'kind': 'human', 'title': 'You', 'note': 'step 8', 'text': 'approved'},
    ]
    with Box('panel'):
        Conversation(blocks, label='Example of a conversation', follow=False)


def _draw_question() -> None:
    async def keep(_event: str, _data: dict[str, Any]) -> None:
        ui.notify('Nobody asked this', type='warning')

    QuestionForm(keep).show('state', QUESTION)


def _draw_result() -> None:
    with Box('result-card panel'):
        for block in RESULT:
            draw_block(block, None)


SECTIONS: tuple[tuple[str, Callable[[], None]], ...] = (
    ('Colours', _draw_colours),
    ('Type', _draw_type),
    ('Buttons', _draw_buttons),
    ('Statuses', _draw_statuses),
    ('Messages', _draw_messages),
    ('Form', _draw_form),
    ('Table', _draw_table),
    ('Tabs', _draw_tabs),
    ('Conversation', _draw_conversation),
    ('Question', _draw_question),
    ('Result', _draw_result),
)


async def _draw_diagram(backend: Backend) -> None:
    shape = backend().catalog.draw(PATTERN)
    legend()
    drawing = Diagram(await svg(shape, folded=default_folds(shape)), title=shape.title)
    drawing.classes('style-diagram').highlight(CHART)


async def _draw_lanes(backend: Backend) -> None:
    """Draw the bar of time of the newest run that is done."""
    conductor = backend()
    runs = (await conductor.runs(RunQuery(status=(Status.DONE,), limit=1))).runs
    if not runs:
        empty_state('schedule', 'A run that is done is shown here.')
        return
    (info,) = runs
    shape = await conductor.shape(info.id)
    index = shared_index(conductor, info.id, shape)
    for step in await conductor.transitions(info.id, after=index.seq):
        index.add(step)
    with Box('panel style-panel'):
        bar = LaneBar(index, shape)
    ran = duration(index.times[-1] - index.times[0])
    bar.move_to(LaneMoment(at=info.seq, head=info.seq, ran=ran, text=f'Step {info.seq}'))
