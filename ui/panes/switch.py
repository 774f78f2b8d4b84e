"""The switch of a narrow window, which shows one part of a run's page at a time."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

VIEWS = (('diagram', 'Diagram'), ('agents', 'Agents'), ('inspector', 'Step'))
SHOW = """() => {
    const name = "%s";
    document.querySelector(".run-grid").dataset.view = name;
    for (const one of document.querySelectorAll(".run-switch .btn"))
        one.classList.toggle("on", one.dataset.part === name);
}"""


def switch(views: Sequence[tuple[str, str]] = VIEWS) -> None:
    """Draw it; a wide window hides it, and shows all parts."""
    with ui.element('div').classes('run-switch').props('role="group" aria-label="What to show"'):
        for name, text in views:
            part = ui.element('button').classes(f'btn {"on" if name == "agents" else ""}')
            part.props(f'type="button" data-part="{name}"').on('click', js_handler=SHOW % name)
            with part:
                ui.label(text)


def show_part(name: str) -> None:
    """Show one of the parts, where the window is narrow."""
    ui.run_javascript(f'({SHOW % name})()')
