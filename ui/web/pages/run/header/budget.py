"""Budgets as bars that burn down: the remainder, how long it will last, and a dialog to add more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from nicegui import ui
from pydantic import BaseModel, Field, create_model
from typing_extensions import override

from engine import Status
from engine.records import Gauge, View
from ui.formatting.steps import duration
from ui.formatting.usage import LIMITS, amount_text, gauge_state, gauge_text
from ui.web.components.dialogs import await_answer, dialog_frame, draw_dialog_actions, notify_errors
from ui.web.components.forms.form import Form
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, set_class
from ui.web.pages.run.pane import Moment, Pane, RunPage

MORE = {'tokens': 'More tokens', 'cost': 'More dollars', 'seconds': 'More seconds'}


class BudgetBars(Pane):
    """The limits of one run; hidden if it has none."""

    place = 'head'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._conductor, self._run = page.context.conductor, page.context.run
        self._view: View | None = None
        self._bars: dict[str, tuple[ui.element, Text]] = {}
        with Box('budgets', role='group', aria_label='Budget') as self.root:
            self._row = Box('budget-row')
            self._add = button('Add budget', icon='add', kind='small')
            self._add.on('click', self._ask_for_more)
            self._warning = Text('span', '', 'budget-warning', role='status')
        self.root.set_visibility(False)

    @override
    def show_step(self, moment: Moment) -> None:
        view = self._view = moment.view
        self.root.set_visibility(bool(view.budget))
        self._add.set_visibility(moment.may_control and not view.status.ended)
        if list(view.budget) != list(self._bars):
            self._row.clear()
            with self._row:
                self._bars = {kind: _draw_bar(kind) for kind in view.budget}
        spent = [kind for kind, gauge in view.budget.items() if gauge.exhausted]
        warning = ' '.join(view.warnings[-1:])
        if spent and not view.status.ended:
            warning = f'{LIMITS[spent[0]]}: used up. The run waits until you add more.'
        self._warning.show(warning)
        set_class(self.root, 'spent', on=spent)
        self.tick(moment, view.time)

    @override
    def tick(self, moment: Moment, now: float) -> None:
        view = moment.view
        running = max(0.0, now - view.time) if view.status is Status.RUNNING else 0.0
        for kind, gauge in view.budget.items():
            current = replace(gauge, used=gauge.used + running) if kind == 'seconds' else gauge
            if kind in self._bars:
                _update_bar(*self._bars[kind], kind, current)

    async def _ask_for_more(self) -> None:
        view = self._view
        if view is None:
            return
        with dialog_frame('Add budget') as dialog:
            Text('p', 'The run continues with the added budget, unless it has ended.')
            form = Form(_model_of(view.budget), on_change=lambda: none.show(''))
            none = Text('p', '', 'problem', role='alert')

            def add() -> None:
                if (parsed := form.submit()) is not None:
                    amounts = parsed.model_dump(exclude_none=True)
                    none.show('' if amounts else 'Enter an amount.')
                    if amounts:
                        dialog.submit(amounts)

            draw_dialog_actions(dialog, 'Add', add)
        amounts = cast(dict[str, Any] | None, await await_answer(dialog))
        if amounts:
            await notify_errors(self._conductor.extend(self._run, **amounts))


def _model_of(budget: Mapping[str, Gauge]) -> type[BaseModel]:
    """Make the model of the dialog's form: an amount to add for each limit, none of which is needed."""
    definitions: dict[str, Any] = {}
    for kind, gauge in budget.items():
        spent = f'{amount_text(kind, gauge.used)} of {amount_text(kind, gauge.limit)} used'
        number = float if kind == 'cost' else int
        definitions[kind] = number | None, Field(None, gt=0, title=MORE[kind], description=spent)
    return create_model('Budget', **definitions)


def _draw_bar(kind: str) -> tuple[ui.element, Text]:
    with Box('budget'):
        Text('span', LIMITS[kind], 'budget-name')
        meter = Box('budget-bar')
        set_attributes(
            meter, role='meter', aria_label=f'{LIMITS[kind]} left', aria_valuemin='0', aria_valuemax='100'
        )
        with meter:
            Box()
        text = Text('span', '', 'num')
    return meter, text


def _update_bar(meter: ui.element, text: Text, kind: str, gauge: Gauge) -> None:
    percent, state = round(100 * max(0.0, gauge.limit - gauge.used) / gauge.limit), gauge_state(gauge)
    if meter.props.get('aria-valuenow') != str(percent):
        set_attributes(meter, aria_valuenow=str(percent))
        meter.style(f'--left: {percent}%')
    meter.classes(add=state, remove=' '.join({'spent', 'low'} - {state}))
    lasts = '' if gauge.lasts is None or state != 'low' else f', lasts about {duration(gauge.lasts)}'
    text.show(f'{gauge_text(kind, gauge)}{lasts}')
