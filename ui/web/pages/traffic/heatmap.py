"""The heatmap of many runs on one diagram, with its modes and scale."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine.records import Shape
from ui.formatting.diagram.traffic import Heat
from ui.formatting.steps import duration
from ui.formatting.values import percent
from ui.web.components.diagram.many_runs import ManyRunsChart
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes
from ui.web.pages.traffic.heatmap_badges import MODES, Mode, heat_layer, scale_ends

SCALE_HELP: dict[Mode, str] = {
    'often': 'Shade: how often a run visits a state. Width: how often an edge was taken.',
    'long': 'Shade: the median time that a run spends in a state, without pauses.',
    'fails': 'Shade: the share of a state’s runs with a failure or timeout there (⚠: how many).',
}
FORMATS: dict[Mode, Callable[[float], str]] = {'often': '{:.1f}×'.format, 'long': duration, 'fails': percent}
"""The format of values, by mode."""


class Heatmap:
    """The chart of a pattern, coloured by the traffic of its runs."""

    def __init__(
        self,
        mode: Mode,
        *,
        on_pick: Callable[[str], None],
        on_mode: Callable[[Mode], None],
        on_fold: Callable[[], Awaitable[None]],
    ) -> None:
        """Draw the panel, still empty; `on_pick` gets a drawn state or edge, `on_mode` the mode."""
        self._on_mode = on_mode
        self.mode = mode
        with Box('panel diagram-panel heat-panel', 'section') as self._panel:
            set_attributes(self._panel, aria_label='Diagram of many runs')
            with Box('panel-head'):
                with Box('heat-modes', role='group', aria_label='Metric'):
                    self._modes = {key: self._draw_mode(key, text) for key, text in MODES.items()}
                Box('grow', 'span')
                tools = Box('heat-tools')
            with Box('heat-scale') as self._legend:
                self._scale_help = Text('p', SCALE_HELP[mode])
                self._states = self._draw_scale('shade', 'State')
                self._edges = self._draw_scale('width', 'Edge')
                with Box('heat-key', 'span'):
                    Box('heat-swatch never', 'i')
                    Text('span', '0: never reached')
            body = Box('heat-diagram')
        self._chart = ManyRunsChart('Traffic of', tools=tools, body=body, on_pick=on_pick, on_fold=on_fold)

    @property
    def folded(self) -> frozenset[str]:
        """The paths of the states drawn folded."""
        return self._chart.folded

    async def draw(self, shape: Shape) -> None:
        """Lay out the chart."""
        await self._chart.draw(shape)

    def show(self, heat: Heat, picked: str) -> None:
        """Overlay heat on the chart; `picked` is the selected state or edge, or ''."""
        hottest, widest = scale_ends(heat, self.mode)
        self._scale_help.show(SCALE_HELP[self.mode])
        self._states.show(f'0 to {FORMATS[self.mode](hottest)}' if hottest else 'none')
        self._edges.show(f'{"1× to " * (widest > 1)}{widest:,}×' if widest else 'none')
        set_attributes(self._legend, data_mode=self.mode)
        self._chart.overlay('heat', heat_layer(heat, self.mode))
        self._chart.pick(picked)

    def _draw_mode(self, key: Mode, text: str) -> ui.element:
        mode_button = button(text, kind='small', aria_pressed=str(key == self.mode).lower())
        mode_button.on('click', lambda: self._choose(key))
        return mode_button

    def _choose(self, mode: Mode) -> None:
        self.mode = mode
        for key, mode_button in self._modes.items():
            set_attributes(mode_button, aria_pressed=str(key == mode).lower())
        self._on_mode(mode)

    def _draw_scale(self, kind: str, what: str) -> Text:
        with Box(f'heat-key {kind}', 'span'):
            Text('b', what)
            Box(f'heat-swatch {kind}', 'i')
            return Text('span', '')
