"""The runs of one case by one variant: scores with their reasons, links, and a run to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from engine import EngineError
from engine.operations.experiments import Cell, Experiment
from engine.records import RunId, Status, clip
from ui.app.backend import Backend
from ui.formatting.experiments.words import score_words
from ui.formatting.files import files_text
from ui.formatting.steps import duration, short_json
from ui.formatting.usage import dollars
from ui.formatting.values import capitalize, count
from ui.web.components.dialogs import await_answer, dialog_frame, notify_errors
from ui.web.components.theme import button, pill
from ui.web.components.widgets import Box, Text, text_link
from ui.web.routing import compare_path

MAX_TEXT, MAX_WORDS = 600, 40
"""Maximum numbers of characters shown of a value of the case, and of a name on a button."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A run that a person has chosen to compare."""

    run: RunId
    words: str


async def show_cell(
    backend: Backend, experiment: Experiment, case: str, variant: str, picked: Picked | None
) -> Picked | None:
    """Show the runs of a cell; return the one that is to be compared with `picked`, or with a later one."""
    page = await notify_errors(backend().experiments.cells(experiment.id, case=case))
    if page is None:
        return None
    base = experiment.variants[0].name
    others = {cell.repeat: cell for cell in page.cells if cell.variant == base and cell.run}
    with dialog_frame(f'{case} · {variant}', 'wide') as dialog:
        await _draw_case(backend, experiment, case)
        for cell in sorted(page.cells, key=lambda cell: cell.repeat):
            if cell.variant != variant:
                continue
            with Box('cell-run', 'section', aria_label=f'Repeat {cell.repeat}'):
                _draw_run(experiment, cell)
                with Box('row-actions'):
                    if not cell.run:
                        continue
                    text_link(f'/runs/{cell.run}', 'Open run', 'btn small')
                    other = others.get(cell.repeat)
                    if variant != base and other:
                        text_link(
                            compare_path(other.run, cell.run), f'Compare with {base}', 'btn small', icon=''
                        )
                    repeat = f' · {cell.repeat}' if experiment.repeats > 1 else ''
                    words = f'{clip(case, MAX_WORDS)} · {clip(variant, MAX_WORDS)}{repeat}'
                    choice = Picked(run=cell.run, words=words)
                    if picked is None or picked.run == cell.run:
                        text = 'Compare with another…'
                    else:
                        text = f'Compare with {picked.words}'
                    button(text, kind='small').on('click', lambda _, choice=choice: dialog.submit(choice))
        with Box('dialog-actions'):
            button('Close').on('click', lambda: dialog.submit(None))
    return cast(Picked | None, await await_answer(dialog))


async def _draw_case(backend: Backend, experiment: Experiment, case: str) -> None:
    """Draw the parameters of the case and what it expects, unless its dataset has been removed."""
    try:
        cases = await backend().datasets.cases(experiment.dataset, experiment.version)
    except EngineError:
        return
    shown_case = next((item for item in cases if item.id == case), None)
    if shown_case is None:
        return
    with Box('facts', 'dl'):
        facts = {name.replace('_', ' '): value for name, value in shown_case.parameters.items()}
        if shown_case.files:
            facts['files'] = files_text(shown_case.files)
        if shown_case.expectation is not None:
            facts['expected'] = shown_case.expectation
        for name, value in facts.items():
            with Box():
                Text('dt', capitalize(name))
                text = value if isinstance(value, str) else short_json(value, MAX_TEXT)
                Text('dd', clip(text, MAX_TEXT), dir='auto')


def _draw_run(experiment: Experiment, cell: Cell) -> None:
    with Box('cell-run-head'):
        if experiment.repeats > 1:
            Text('b', f'Repeat {cell.repeat}')
        pill(cell.status or Status.RUNNING, cell.error if cell.status is Status.DONE else '')
        spent = [duration(cell.seconds), count(cell.tokens, 'token')]
        spent += ['cost unknown' if cell.dollars is None else dollars(cell.dollars)]
        if cell.status:
            Text('span', ' · '.join(spent), 'muted small num')
        if cell.reused:
            Text('span', 'reused', 'chip', title='Made for an earlier experiment; nothing has changed since')
    if cell.error:
        Text('p', cell.error, 'small problem-text' if cell.status is Status.FAILED else 'muted small')
    for spec in experiment.scorers:
        score = cell.scores.get(spec.name)
        with Box('cell-score'):
            Text('span', spec.name, 'muted small', dir='auto')
            Text('b', score_words(score), 'num')
            if score and score.reason:
                Text('span', score.reason, 'small', dir='auto')
            for run in score.runs if score else ():
                text_link(f'/runs/{run}', 'Judge', 'small')
