"""Fork: what is to be otherwise from a step on, and what it may cost; the step stands beside it."""

from __future__ import annotations

from nicegui import ui

from engine import Conductor, EngineError, RunId, RunInfo, Shape, Transition, View, agents_of
from ui.door import Door
from ui.drawing.diagram import INSTALL, available, lit, svg
from ui.drawing.folding import readable
from ui.elements import Diagram
from ui.forks.forker import Forker
from ui.forks.variant import Origin
from ui.pages import missing
from ui.panes.around import Around
from ui.panes.reasons import Reasons
from ui.parts import Text, link
from ui.presenters.reading import headline
from ui.replay.history import History
from ui.served import served
from ui.stepping.stepper import Stepper
from ui.theme import frame, notice


def register(door: Door) -> None:
    """Serve `/runs/{run}/fork?at=17`; without a step it is the newest one that can go on."""

    @served('/runs/{run}/fork')
    async def page(run: str, at: str = '') -> None:
        conductor = door()
        try:
            info = await conductor.info(RunId(run))
            made, shape = conductor.catalog.pattern(info.pattern), await conductor.shape(info.id)
            last = await _open_until(conductor, info)
            asked = int(at) if at.isdecimal() else last
            step = min(asked, last)
            step = step and await conductor.turn_end(info, step)
            view = await conductor.view(info.id, step)
            steps = await conductor.transitions(info.id, after=max(step - 1, 0), until=step)
        except EngineError as error:
            missing.unread(error)
            return
        named = Around(
            conductor=conductor,
            run=info.id,
            shape=shape,
            history=History(),
            send=_nothing,
            stepper=Stepper(conductor, info.id, shape),
            reasons=Reasons(conductor, info.id),
        ).named
        agents = {str(state.path): named(state.path) for state in shape.states if state.role}
        origin = Origin(info=info, view=view, made=made, staff=agents_of(made), agents=agents)
        with frame(f'Fork · {info.title}'):
            _head(info, step, asked)
            with ui.element('div').classes('launch'):
                forker = Forker(door, origin)
                await _beside(shape, view, steps[0] if steps else None)
        ui.timer(0.1, forker.load, once=True)


async def _open_until(conductor: Conductor, info: RunInfo) -> int:
    """The last step at which the run can still go on."""
    if not info.status.ended:
        return info.seq
    before = await conductor.transitions(info.id, after=max(0, info.seq - 50))
    ways_on = [step.seq for step in before if step.active and not step.raised]
    for seq in reversed(ways_on):
        if not (await conductor.view(info.id, await conductor.turn_end(info, seq))).status.ended:
            return seq
    return 0


def _head(info: RunInfo, step: int, asked: int) -> None:
    with ui.element('div').classes('hero'):
        with link(f'/runs/{info.id}?at={step}', 'small back'):
            Text('span', f'← {info.title}, step {step}')
        Text('h1', f'Fork from step {step}')
        Text('p', 'A new run goes on from here. The original is not changed.', 'muted')
    if asked > step:
        with notice('info', 'info'):
            ui.label(f'At step {asked} the run had ended: step {step} is the last from which it can go on.')


async def _beside(shape: Shape, view: View, step: Transition | None) -> None:
    with ui.element('section').classes('panel launch-chart').props('aria-labelledby="chart"'):
        with ui.element('div').classes('panel-head'):
            Text('h2', f'Step {step.seq}: {headline(step)}' if step else 'Before the first step', id='chart')
        with ui.element('div').classes('launch-diagram'):
            if not available():
                with notice('wait', 'account_tree'):
                    ui.label(INSTALL)
                return
            drawn = await svg(shape, folded=readable(shape))
            drawing = Diagram(drawn, label=f'State diagram of {shape.title}')
            drawing.light(lit(view, step, seen=list(view.entered)))


async def _nothing(name: str, at: str, data: dict[str, object]) -> None:
    """Nothing is sent from here."""
