"""The fork page: the fork form next to the step it starts from."""

from __future__ import annotations

from nicegui import ui

from engine import Conductor, EngineError, Transition
from engine.agents import agents_of
from engine.records import RunId, RunInfo, Shape, View
from ui.app.backend import Backend
from ui.formatting.diagram.agents import agent_name
from ui.formatting.diagram.folding import default_folds
from ui.formatting.diagram.rendering import highlight, svg
from ui.formatting.forks import turn_sentence
from ui.formatting.sentences import step_sentence
from ui.formatting.values import parse_number
from ui.web.components.diagram.missing import notice_without_graphviz
from ui.web.components.elements import Diagram
from ui.web.components.theme import FORM_KEYS, frame, page_head, text_notice
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.fork.form import ForkForm
from ui.web.pages.fork.variant import Origin
from ui.web.pages.shared import errors
from ui.web.permission import is_permitted
from ui.web.routing import experiment_path, serve_page


def register(backend: Backend) -> None:
    """Serve `/runs/{run}/fork?at=17`; the default is the newest step that can continue."""

    @serve_page('/runs/{run}/fork')
    async def page(run: str, at: str = '') -> None:
        conductor = backend()
        try:
            info = await conductor.info(RunId(run))
            pattern, shape = conductor.catalog.pattern_of(info), await conductor.shape(info.id)
            last = await _open_until(conductor, info)
            requested = parse_number(at)
            step = last if requested is None else min(requested, last)
            step = step and await conductor.turn_end(info, step)
            view = await conductor.view(info.id, step)
            steps = await conductor.transitions(info.id, after=max(step - 1, 0), until=step)
        except EngineError as error:
            errors.read_error(error)
            return
        agents = {str(state.path): agent_name(shape, state.path) for state in shape.states if state.role}
        origin = Origin(info=info, view=view, pattern=pattern, roles=agents_of(pattern), agents=agents)
        with frame(f'Fork · {info.title}', of_runs=True, keys=FORM_KEYS):
            _draw_head(info, step, step if requested is None else requested)
            with Box('launch'):
                forker = ForkForm(backend, origin)
                await _draw_step(shape, view, steps[0] if steps else None)
        ui.timer(0.1, forker.load, once=True)


async def _open_until(conductor: Conductor, info: RunInfo) -> int:
    """Return the last step from which the run can continue."""
    if not info.status.ended:
        return info.seq
    before = await conductor.transitions(info.id, after=max(0, info.seq - 50))
    resumable = [step.seq for step in before if step.active and not step.raised]
    for seq in reversed(resumable):
        if not (await conductor.view(info.id, await conductor.turn_end(info, seq))).status.ended:
            return seq
    return 0


def _draw_head(info: RunInfo, step: int, requested: int) -> None:
    begin = min(requested, step)
    head = page_head(
        f'Fork from step {begin}',
        'A new run continues from this step. The original is not changed.',
        back=(f'/runs/{info.id}?at={begin}', f'{info.title}, step {begin}'),
    )
    if is_permitted('experiments.add'):
        with head:
            text_link(experiment_path(info.id), 'Make this an experiment: variants on many cases', 'small')
    if requested > step:
        text_notice(
            'info',
            'info',
            f'The run had ended at step {requested}; step {step} is the last one it can continue from.',
        )
    elif 0 < requested < step:
        text_notice('info', 'info', turn_sentence(requested, step))


async def _draw_step(shape: Shape, view: View, step: Transition | None) -> None:
    with Box('panel launch-chart', 'section', aria_labelledby='chart'):
        with Box('panel-head'):
            Text(
                'h2',
                f'Step {step.seq}: {step_sentence(step, shape)}' if step else 'Before the first step',
                id='chart',
            )
        with Box('launch-diagram'):
            notice_without_graphviz()
            drawn = await svg(shape, folded=default_folds(shape))
            drawing = Diagram(drawn, title=shape.title, states=[state.path for state in shape.states])
            drawing.highlight(highlight(shape, view, step, visited=list(view.entered)))
