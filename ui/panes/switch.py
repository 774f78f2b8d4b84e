"""The switch of a narrow window, which shows one part of a run's page at a time."""

from __future__ import annotations

from nicegui import ui

VIEWS = (('diagram', 'Diagram'), ('agents', 'Agents'), ('inspector', 'Step'))
SHOW = """(event) => {
    const part = event.currentTarget;
    document.querySelector(".run-grid").dataset.view = "%s";
    for (const one of part.parentElement.children) one.classList.toggle("on", one === part);
}"""


def switch() -> None:
    """Draw it; a wide window hides it, and shows all parts."""
    with ui.element('div').classes('run-switch').props('role="group" aria-label="What to show"'):
        for name, text in VIEWS:
            part = ui.element('button').classes(f'btn {"on" if name == "agents" else ""}')
            part.props('type="button"').on('click', js_handler=SHOW % name)
            with part:
                ui.label(text)
