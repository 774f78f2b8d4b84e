"""The diagram of many runs: its heat, the switch between the three questions, and the scale."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import Shape
from ui.drawing.diagram import INSTALL, available, svg
from ui.drawing.folding import agents_of, readable
from ui.drawing.looking import look_buttons
from ui.drawing.saving import export_menu
from ui.elements import Diagram
from ui.panes.folds import Folds
from ui.parts import Text, attach
from ui.presenters.reading import span
from ui.theme import button, notice
from ui.traffic.heat import Heat
from ui.traffic.spots import MODES, Mode, most, percent, spots

TOLD: dict[Mode, str] = {
    'often': 'Shade: how often a run visits a state. Width: how often an edge was taken.',
    'long': 'Shade: the median time that a run spends in a state, without pauses.',
    'fails': 'Shade: the share of runs there for which something failed or expired (⚠: how many).',
}
SHOWN: dict[Mode, Callable[[float], str]] = {'often': '{:.1f}×'.format, 'long': span, 'fails': percent}
"""How the value that a shade stands for is written."""


def _first(shape: Shape) -> frozenset[str]:
    """What is folded at first: agents, which are alike inside, and whatever could not be read."""
    return readable(shape) | agents_of(shape)


class HeatBoard:
    """A chart with heat, in a panel."""

    def __init__(
        self,
        mode: Mode,
        *,
        on_pick: Callable[[str], None],
        on_mode: Callable[[Mode], None],
        on_fold: Callable[[], Awaitable[None]],
    ) -> None:
        """Draw the panel, still empty; `on_pick` gets a state or an edge as drawn, `on_mode` the question."""
        self._on_pick, self._on_mode, self._on_fold = on_pick, on_mode, on_fold
        self.mode = mode
        self._shape: Shape | None = None
        self._folds: Folds | None = None
        self._drawing: Diagram | None = None
        with ui.element('section').classes('panel diagram-panel heat-panel') as self._panel:
            attach(self._panel, aria_label='Diagram of many runs')
            with ui.element('div').classes('panel-head'):
                with ui.element('div').classes('heat-modes').props('role="group" aria-label="What it shows"'):
                    self._modes = {key: self._mode(key, text) for key, text in MODES.items()}
                ui.element('span').classes('grow')
                self._tools = ui.element('div').classes('heat-tools')
            with ui.element('div').classes('heat-scale') as self._legend:
                self._told = Text('p', TOLD[mode])
                self._states = self._scale('shade', 'State')
                self._edges = self._scale('width', 'Edge')
                with ui.element('span').classes('heat-key'):
                    ui.element('i').classes('heat-swatch never')
                    Text('span', '0: never reached')
            self._body = ui.element('div').classes('heat-diagram')

    @property
    def folded(self) -> frozenset[str]:
        """The states that are drawn as one each."""
        return self._folds.folded if self._folds else frozenset()

    async def draw(self, shape: Shape) -> None:
        """Lay the chart out, if it is another one than before."""
        if shape != self._shape:
            self._shape = shape
            self._begin(shape)
        if self._drawing is not None:
            self._drawing.show(await svg(shape, folded=self.folded, wide=True))

    def show(self, heat: Heat, picked: str) -> None:
        """Put heat on the chart; `picked` is a state or an edge that is drawn, or ''."""
        hottest, widest = most(heat, self.mode)
        self._told.show(TOLD[self.mode])
        self._states.show(f'0 to {SHOWN[self.mode](hottest)}' if hottest else 'none')
        self._edges.show(f'{"1× to " * (widest > 1)}{widest:,}×' if widest else 'none')
        attach(self._legend, data_mode=self.mode)
        self._legend.update()
        if self._drawing is not None:
            self._drawing.overlay('heat', spots(heat, self.mode))
            kind = 'edges' if '>' in picked else 'states'
            self._drawing.overlay('picked', {kind: {picked: {'classes': 'picked'}}} if picked else {})  # type: ignore[misc]

    def _begin(self, shape: Shape) -> None:
        self._body.clear()
        self._tools.clear()
        folds = self._folds = Folds(shape, self._on_fold, first=_first, kept='folded_traffic')
        with self._tools:
            folds.draw()
            look_buttons(lambda: self._drawing)
            export_menu(lambda: self._shape, lambda: self.folded)
        with self._body:
            if not available():
                with notice('wait', 'account_tree'):
                    ui.label(INSTALL)
            self._drawing = Diagram(
                '', label=f'Traffic of {shape.title}', on_pick=self._on_pick, on_fold=folds.turn
            )
            self._drawing.on('edge', lambda event: self._press(*map(str, event.args)))

    def _press(self, edge: str, how: str) -> None:
        if how == 'press' and edge:
            self._on_pick(edge)

    def _mode(self, key: Mode, text: str) -> ui.element:
        made = button(text, kind='small')
        attach(made, aria_pressed=str(key == self.mode).lower())
        made.on('click', lambda: self._choose(key))
        return made

    def _choose(self, mode: Mode) -> None:
        self.mode = mode
        for key, made in self._modes.items():
            attach(made, aria_pressed=str(key == mode).lower())
            made.update()
        self._on_mode(mode)

    def _scale(self, kind: str, what: str) -> Text:
        with ui.element('span').classes(f'heat-key {kind}'):
            Text('b', what)
            ui.element('i').classes(f'heat-swatch {kind}')
            return Text('span', '')
