"""What may come next: the list, what is given with the chosen one, and where it would lead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from engine import EngineError, InvalidInput
from engine.operations.rehearsal.simulator import Choice, Moment, Simulator
from ui.formatting.values import as_sentence
from ui.web.components.forms.form import RUN_KEYS
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, Text
from ui.web.pages.launch.simulator.guards import GuardList
from ui.web.pages.launch.simulator.stub_editor import StubEditor
from ui.web.pages.launch.simulator.wording import ENDINGS, ICONS, choice_text, moment_text

DEBOUNCE_SECONDS = 0.3
"""Seconds without a change before it is shown where the choice would lead."""


class ChoicePanel:
    """The panel.

    Args:
        on_step: called after each step that it takes.
        on_run: starts a run that goes the same way, once the walk has ended.
    """

    def __init__(self, on_step: Callable[[], Awaitable[None]], on_run: Callable[[], Awaitable[None]]) -> None:
        self._on_step, self._on_run = on_step, on_run
        self._simulator: Simulator | None = None
        self._guards: GuardList | None = None
        self._chosen: Choice | None = None
        self._editor: StubEditor | None = None
        with Box('panel walk-next', 'section', aria_labelledby='next') as panel:
            with Box('panel-head'):
                Text('h2', 'What comes next', id='next')
            self._body = Box('panel-body walk-body')
            self._foot = Box('walk-foot')
        panel.on('keydown', self._take, js_handler=RUN_KEYS)
        self._debounce = ui.timer(DEBOUNCE_SECONDS, self._preview, active=False, immediate=False)

    def use(self, simulator: Simulator | None, guards: GuardList | None) -> None:
        """Take another walk, which `show` shows; None if there is none yet."""
        self._simulator, self._guards = simulator, guards

    def show(self) -> None:
        """Offer what may come at the present moment of the walk."""
        simulator = self._simulator
        self._debounce.deactivate()
        self._body.clear()
        self._foot.clear()
        with self._body:
            if simulator is None:
                Text('p', 'Fill in the parameters first.', 'muted')
                return
            choices, moment = simulator.choices(), simulator.moment
            if moment.ending:
                text = ENDINGS[moment.ending] + (f' {as_sentence(moment.reason)}' if moment.reason else '')
                text_notice('fail' if moment.ending == 'failed' else 'info', 'flag', text)
                if simulator.is_assumed:
                    Text('p', 'Guards were assumed: a run with these stubs may go another way.', 'muted')
                elif simulator.stubs():
                    button('Run with these stubs', icon='play_arrow', requires='start').on(
                        'click', self._on_run
                    )
                return
            if not choices:
                text_notice('fail', 'block', 'Nothing can come here: a run would stay here for ever.')
                return
            similar = (item for item in choices if self._chosen and item.id == self._chosen.id)
            self._chosen = next(similar, choices[0])
            with Box('walk-choices', role='group', aria_label='What may come'):
                for choice in choices:
                    self._draw_choice(choice, simulator)
            self._given = Box('walk-given')
        with self._foot:
            self._problem = Text('p', '', 'problem', role='alert')
            self._outcome = Box('walk-outcome', role='status')
            button('Take this step', kind='primary').on('click', self._take)
        self._draw_given()

    def _draw_choice(self, choice: Choice, simulator: Simulator) -> None:
        pressed = str(choice is self._chosen).lower()
        element = Box('walk-choice', 'button', type='button', aria_pressed=pressed)
        with element:
            ui.icon(ICONS[choice.kind], size='18px')
            Text('span', choice_text(choice, simulator.shape))
        element.on('click', partial(self._choose, choice))

    def _choose(self, choice: Choice) -> None:
        self._chosen = choice
        self.show()

    def _draw_given(self) -> None:
        if self._simulator is None or self._chosen is None:
            return
        with self._given:
            self._editor = StubEditor(self._chosen, self._simulator.draft(self._chosen), self._on_edit)
        self._preview()

    def _on_edit(self) -> None:
        self._debounce.deactivate()
        self._debounce.activate()

    def _preview(self) -> None:
        """Show where the choice would lead."""
        self._debounce.deactivate()
        simulator, choice, editor = self._simulator, self._chosen, self._editor
        if simulator is None or choice is None or editor is None:
            return
        self._outcome.clear()
        self._problem.show('')
        if editor.form and editor.form.parse()[0] is None:
            return  # The form says what is wrong.
        try:
            moment = simulator.preview(choice, editor.given)
        except EngineError as error:
            self._problem.show(as_sentence(_problem_text(error)))
            return
        with self._outcome:
            self._draw_outcome(moment, simulator)

    def _draw_outcome(self, moment: Moment, simulator: Simulator) -> None:
        with Box('walk-leads'):
            ui.icon('arrow_forward', size='16px')
            Text('span', moment_text(moment, simulator.shape))
        if self._guards:
            self._guards.draw(moment, simulator.moment.document)
        for problem in moment.problems:
            Text('p', f'A run would fail here: {problem}', 'problem')

    async def _take(self) -> None:
        simulator, choice, editor = self._simulator, self._chosen, self._editor
        if simulator is None or choice is None or editor is None or simulator.moment.ending:
            return
        if editor.form and editor.form.submit() is None:
            return
        try:
            simulator.choose(choice, editor.given)
        except EngineError as error:
            self._problem.show(as_sentence(_problem_text(error)))
            return
        await self._on_step()


def _problem_text(error: EngineError) -> str:
    if not isinstance(error, InvalidInput):
        return str(error)
    return '; '.join(
        f'{field.removeprefix("answer.")}: {problem}' if field != 'answer' else problem
        for field, problem in error.problems.items()
    )
