"""The simulator page: a pattern's chart to click through, without a run."""

from __future__ import annotations

from ui.app.backend import Backend
from ui.web.components.theme import Keys, frame, page_head
from ui.web.pages.launch.simulator.view import SimulatorView
from ui.web.pages.shared import errors
from ui.web.pages.shared.launching.earlier_version import earlier_version
from ui.web.routing import launch_path, serve_page

KEYS: Keys = (('← →', 'Back and forward in the walk'), ('Ctrl Enter', 'Let what is chosen come'))


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page('/patterns/{pattern}/simulate')
    async def simulate(pattern: str, version: str = '') -> None:
        pattern_class = await errors.find_pattern(backend, pattern, version)
        if pattern_class is None:
            return
        with frame(f'Simulate {pattern_class.title}', of_runs=True, keys=KEYS):
            page_head(
                f'Simulate {pattern_class.title}',
                'Choose what comes next, or click a state to go there. Nothing is called or stored.',
                back=(launch_path(pattern, version=version), f'Configure {pattern_class.title}'),
            )
            earlier_version(backend().catalog, pattern_class)
            await SimulatorView(backend, pattern_class).load()
