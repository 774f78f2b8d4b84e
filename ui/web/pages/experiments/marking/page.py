"""The page on which people mark answers: alone, or two side by side, by buttons or keys."""

from __future__ import annotations

from nicegui import ui
from nicegui.events import KeyEventArguments

from engine import EngineError
from engine.operations.experiments import Experiment, Pairing, UnknownExperiment
from ui.app.backend import Backend
from ui.formatting.experiments.expectations import expectation_text
from ui.formatting.values import capitalize, count
from ui.web.components.dialogs import notify_errors
from ui.web.components.elements import draw_markdown
from ui.web.components.theme import Keys, button, empty_state, frame, page_head
from ui.web.components.widgets import Box, CachedElement, Text, label, text_area, text_link
from ui.web.pages.shared import errors
from ui.web.replay.conversation import json_to_markdown
from ui.web.routing import serve_page

ALONE = (
    ('1', 'Bad', 0.0),
    ('2', 'Poor', 0.25),
    ('3', 'Fair', 0.5),
    ('4', 'Good', 0.75),
    ('5', 'Very good', 1.0),
)
"""Marks of one answer: key, words, value."""
BESIDE = (('1', 'A is better', 1.0), ('2', 'Neither', 0.5), ('3', 'B is better', 0.0))
"""Marks of two answers, of which A is the first."""
THUMBS = {'ArrowUp': 1.0, 'ArrowDown': 0.0}
KEYS: Keys = (
    ('1 … 5', 'Mark an answer, from bad to very good; of two: 1 is A, 2 neither, 3 B'),
    ('↑ ↓', 'Thumbs up or down'),
    ('S', 'Skip'),
)
BATCH = 10
"""Pairings read at a time."""


def register(backend: Backend) -> None:
    """Serve `/experiments/{experiment}/mark`."""

    @serve_page('/experiments/{experiment}/mark')
    async def mark(experiment: str) -> None:
        try:
            examined = await backend().experiments.get(experiment)
        except UnknownExperiment:
            errors.unknown('experiment', experiment, '/experiments', 'All experiments')
            return
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(f'Mark {examined.name}', here='/experiments', of_runs=True, keys=KEYS):
            summary = 'You are not told which variant wrote what. Press ? for the keys.'
            page_head('Mark answers', summary, back=(f'/experiments/{examined.id}', examined.name))
            marking = Marking(backend, examined)
        await marking.load()


class Marking:
    """One answer, or two side by side, after the other."""

    def __init__(self, backend: Backend, experiment: Experiment) -> None:
        """Draw it empty; `load` reads what is to be marked."""
        self._backend, self._experiment = backend, experiment
        self._queue: list[Pairing] = []
        self._skipped: set[tuple[str, str]] = set()
        self._marked = 0
        self._is_busy = False
        self._place = CachedElement('section marking', data_redrawn=True)
        ui.keyboard(on_key=self._on_key, ignore=['input', 'select', 'textarea'], repeating=False)

    async def load(self) -> None:
        """Read what is to be marked next, unless some is left."""
        if not self._queue:
            experiments = self._backend().experiments
            limit = min(100, BATCH + len(self._skipped))
            unmarked = await notify_errors(experiments.to_mark(self._experiment.id, limit))
            if unmarked is None or self._place.is_deleted:
                return
            self._queue = [item for item in unmarked if (item.cell, item.over) not in self._skipped]
        self._show()

    def _show(self) -> None:
        current = self._queue[0] if self._queue else None
        if not self._place.clear_if_changed((current, self._marked)):
            return
        with self._place:
            if current is None:
                self._draw_end()
            else:
                self._draw(current)

    def _draw_end(self) -> None:
        with Box('card'):
            done = f'You have marked {count(self._marked, "answer")} here. ' if self._marked else ''
            empty_state('check', f'{done}Nothing is left to mark.')
            with Box('empty-action'):
                text_link(f'/experiments/{self._experiment.id}', 'See the answer', 'btn primary')

    def _draw(self, item: Pairing) -> None:
        with Box('card marking-case', 'section', aria_label='The case'), Box('facts', 'dl'):
            facts = {name.replace('_', ' '): value for name, value in item.parameters.items()}
            if item.expectation is not None:
                facts['expected'] = item.expectation
            for name, value in facts.items():
                with Box():
                    Text('dt', capitalize(name))
                    Text('dd', expectation_text(value), dir='auto')
        answers = {'A': item.answer, 'B': item.other} if item.over else {'': item.answer}
        with Box('marking-answers'):
            for letter, answer in answers.items():
                with Box('card marking-answer', 'section', aria_label=f'Answer {letter}'.strip()):
                    if letter:
                        Text('h2', letter)
                    text = expectation_text(answer)
                    draw_markdown(
                        json_to_markdown(text) if text else '*No answer*', f'Answer {letter}'.strip()
                    )
        with Box('card marking-foot'):
            comment = text_area('', maxlength='10000')
            label('Comment (optional)', comment).move(target_index=0)
            self._comment = comment
            with Box('marking-buttons', role='group', aria_label='Your mark'):
                for key, words, value in BESIDE if item.over else ALONE:
                    with button(words, requires='experiments.mark') as choice:
                        Text('kbd', key)
                    choice.on('click', lambda _, value=value: self._mark(value))
                skip = button('Skip', kind='quiet')
                with skip:
                    Text('kbd', 'S')
                skip.on('click', self._skip)
            Text(
                'p',
                f'{count(self._marked, "answer")} marked by you on this page.',
                'muted small',
                role='status',
            )

    async def _on_key(self, event: KeyEventArguments) -> None:
        held, key = event.modifiers, event.key.name
        if not self._queue or not event.action.keydown or held.ctrl or held.alt or held.meta:
            return
        current = self._queue[0]
        values = {key: value for key, _, value in (BESIDE if current.over else ALONE)}
        if not current.over:
            values |= THUMBS
        if key in values:
            await self._mark(values[key])
        elif key.lower() == 's':
            await self._skip()

    async def _mark(self, value: float) -> None:
        if self._is_busy or not self._queue:
            return
        self._is_busy = True
        current = self._queue[0]
        try:
            marked = await notify_errors(
                self._backend().experiments.mark(
                    self._experiment.id,
                    current.cell,
                    over=current.over,
                    value=value,
                    comment=str(self._comment.value or ''),
                )
            )
        finally:
            self._is_busy = False
        if marked:
            self._marked += 1
            del self._queue[0]
            await self.load()

    async def _skip(self) -> None:
        if self._queue:
            skipped = self._queue.pop(0)
            self._skipped.add((skipped.cell, skipped.over))
            await self.load()
