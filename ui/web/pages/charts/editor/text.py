"""The text of a chart as an element: CodeMirror, with what the server adds to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from nicegui.element import Element
from nicegui.elements import codemirror

from ui.web.components.assets import ASSETS
from ui.web.pages.charts.checking import TextProblem

LIBRARY = codemirror.__name__
"""NiceGUI's package with CodeMirror: once imported, its script can be imported by ours."""


class Option(TypedDict, total=False):
    """What may come at the cursor."""

    label: str
    detail: str
    type: str
    """The icon: `keyword`, `property`, `variable`, `constant`, `function`, `type`."""
    apply: str
    """What is inserted, if not the label."""


class ChartText(Element, component=ASSETS / 'editor' / 'chart_text.js'):
    """Holds the text as it was last typed; changes by the server are one step of undo each."""

    def __init__(self, text: str, *, label: str, readonly: bool = False) -> None:
        super().__init__()
        self.text = text
        self._serial = 0
        self._props |= {'value': text, 'label': label, 'readonly': readonly}
        self.is_narrow = False
        """Whether the window is so narrow that the text can only be looked at."""
        self._handlers: list[Callable[[], Any]] = []
        self.on('text', self._receive)
        self.on('narrow', self._set_narrow)

    def on_text(self, handler: Callable[[], Any]) -> None:
        """Call `handler` after each change, whoever made it."""
        self._handlers.append(handler)

    def on_line(self, handler: Callable[[int], Any]) -> None:
        """Call `handler` with the line of the cursor whenever it is in another."""
        self.on('line', lambda event: handler(int(event.args)))

    def on_history(self, handler: Callable[[bool, bool], Any]) -> None:
        """Call `handler` with whether there is something to undo and to redo, whenever that changes."""
        self.on('history', lambda event: handler(bool(event.args[0]), bool(event.args[1])))

    def on_save(self, handler: Callable[[], Any]) -> None:
        """Call `handler` when a person presses Ctrl+S."""
        self.on('save', lambda _: handler())

    def on_late(self, handler: Callable[[], Any]) -> None:
        """Call `handler` if a change by the server came too late: the text had been typed in meanwhile."""
        self.on('late', lambda _: handler())

    def on_complete(self, source: Callable[[int, str], tuple[int, Sequence[Option]]]) -> None:
        """Offer what `source` returns: from which column, and what.

        It gets the line of the cursor, counted from 1, and what is before the cursor in it.
        """

        def complete(event: Any) -> None:
            number, line, before = event.args
            start, options = source(int(line), str(before))
            self.run_method('offer', number, start, list(options))

        self.on('complete', complete)

    def _receive(self, event: Any) -> None:
        text, serial = event.args
        self._serial = int(serial)
        self._keep(str(text))

    def _set_narrow(self, event: Any) -> None:
        self.is_narrow = bool(event.args)

    def _keep(self, text: str) -> None:
        self.text = text
        with self._props.suspend_updates():  # the browser has it
            self._props['value'] = text
        for handler in self._handlers:
            handler()

    def replace(self, text: str) -> None:
        """Show another text, as one step of undo."""
        self.run_method('replace', text, self._serial)
        self._keep(text)

    def mark_saved(self, text: str) -> None:
        """Let the page be left without a warning while it has this text."""
        self.run_method('markSaved', text)

    def show_problems(self, problems: Sequence[TextProblem]) -> None:
        """Mark these problems, instead of the earlier ones."""
        self.run_method('show', list(problems))

    def light(self, lines: Sequence[int]) -> None:
        """Light these lines."""
        self.run_method('light', list(lines))

    def go(self, line: int, *, focus: bool = True) -> None:
        """Move the cursor to a line."""
        self.run_method('go', line, focus)

    def undo(self) -> None:
        """Undo the last step."""
        self.run_method('undo')

    def redo(self) -> None:
        """Redo the step undone last."""
        self.run_method('redo')
