"""Layout switches: one part at a time in a narrow window, and a column that can be hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui import ui

from ui.web.components.theme import button
from ui.web.components.widgets import Box, set_attributes

VIEWS = (('diagram', 'Diagram'), ('agents', 'Agents'), ('inspector', 'Step'))
SHOW = """() => {
    const name = "%s";
    document.querySelector(".run-grid").dataset.view = name;
    for (const one of document.querySelectorAll(".run-switch .btn"))
        one.classList.toggle("on", one.dataset.part === name);
}"""


def view_switch(views: Sequence[tuple[str, str]] = VIEWS) -> None:
    """Draw the switch; a wide window hides it, and shows all parts."""
    with Box('run-switch', role='group', aria_label='What to show'):
        for name, text in views:
            part = Box(f'btn {"on" if name == "agents" else ""}', 'button')
            part.props(f'type="button" data-part="{name}"').on('click', js_handler=SHOW % name)
            with part:
                ui.label(text)


def show_part(name: str) -> None:
    """Show one of the parts, if the window is narrow."""
    ui.run_javascript(f'({SHOW % name})()')


def diagram_switch(on_toggle: Callable[[bool], None]) -> None:
    """Draw a button that hides the diagram's column, giving its width to its neighbour, or shows it again.

    `on_toggle` gets whether the diagram is hidden.
    """

    def toggle() -> None:
        hidden = switch.props['aria-pressed'] == 'false'
        set_attributes(switch, aria_pressed=str(hidden).lower())
        on_toggle(hidden)

    switch = button('', icon='vertical_split', kind='quiet', label='Hide the diagram').on('click', toggle)
    set_attributes(switch, aria_pressed='false')
