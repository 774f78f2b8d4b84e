"""The components of ours that run in the browser: diagram, conversation, trees, code, combobox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.value_element import ValueElement

from ui.drawing.overlays import Spots
from ui.web import ASSETS


class Diagram(Element, component=ASSETS / 'diagram.js'):
    """A chart's SVG, lit by class."""

    def __init__(
        self,
        svg: str,
        *,
        label: str,
        on_pick: Callable[[str], Any] | None = None,
        on_fold: Callable[[str], Any] | None = None,
        on_context: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        """Show `svg`; `label` names it for who cannot see it.

        `on_pick` gets the state that was clicked, `on_fold` the one that was clicked twice. `on_context` gets
        what a menu is asked for: its `kind` (`state`, `edge`; '' for all), its `name`, and where (`x`, `y`).
        """
        super().__init__()
        self._props |= {
            'svg': svg,
            'label': label,
            'lit': {},
            'overlays': {},
            'pickable': on_pick is not None,
        }
        if on_pick:
            self.on('pick', lambda event: on_pick(str(event.args)))
        if on_fold:
            self.on('fold', lambda event: on_fold(str(event.args)))
        if on_context:
            self.on('context', lambda event: on_context(event.args))

    def on_edge(self, heard: Callable[[str, str], Any]) -> None:
        """Tell `heard` of edges: the name (`ui.drawing.diagram.edge_id`), and `hover`, `focus` or `press`.

        Or '' with `leave` (the pointer has gone) or `close`.
        """
        self.on('edge', lambda event: heard(*map(str, event.args)))

    def show(self, svg: str) -> None:
        """Draw another chart."""
        self._props['svg'] = svg
        self.update()

    def light(self, lit: dict[str, Any]) -> None:
        """Light states and edges (`ui.drawing.diagram.lit`)."""
        if self._props['lit'] != lit:
            with self._props.suspend_updates():  # the drawing itself need not be sent again
                self._props['lit'] = lit
            self.run_method('relight', lit)

    def overlay(self, layer: str, spots: Spots) -> None:
        """Put marks on states and edges as the layer of this name; it gives up those that it had."""
        layers = {**self._props['overlays'], layer: spots}
        if spots != self._props['overlays'].get(layer, {}):
            with self._props.suspend_updates():
                self._props['overlays'] = {name: found for name, found in layers.items() if found}
            self.run_method('recover', self._props['overlays'])


class Conversation(Element, component=ASSETS / 'conversation.js'):
    """Blocks of text, of which only the new ones are sent, and text that is being streamed."""

    def __init__(self, blocks: Sequence[dict[str, Any]], *, label: str, follow: bool = True) -> None:
        """Show `blocks`; with `follow` it stays at its end while that is in sight."""
        super().__init__()
        self._blocks = list(blocks)
        self._props |= {'blocks': self._blocks, 'label': label, 'follow': follow}

    def show(self, blocks: Sequence[dict[str, Any]]) -> None:
        """Show these blocks: the ones that are there already stay."""
        keep = 0
        for old, new in zip(self._blocks, blocks, strict=False):
            if old != new:
                break
            keep += 1
        if keep == len(self._blocks) == len(blocks):
            return
        self._blocks = list(blocks)
        with self._props.suspend_updates():  # the browser gets the difference, below
            self._props['blocks'] = self._blocks
        self.run_method('splice', keep, self._blocks[keep:])

    def append(self, kind: str, text: str) -> None:
        """Add a streamed piece."""
        self.run_method('append', kind, text)

    def reset(self) -> None:
        """Take the streamed text back."""
        self.run_method('clear')


class Speeches(Element, component=ASSETS / 'transcript.js'):
    """Thousands of blocks of text and a filter: it holds none here, and draws those near the window."""

    def __init__(self, *, label: str) -> None:
        """Show none yet; `label` names the list for who cannot see it."""
        super().__init__()
        self._props |= {'label': label}

    def add(self, blocks: Sequence[dict[str, Any]], *, before: bool = False) -> None:
        """Put blocks, each with its `step`, after those that are there, or before them."""
        if blocks:
            self.run_method('before' if before else 'after', list(blocks))

    def empty(self) -> None:
        """Take all blocks away."""
        self.run_method('clear')

    def show(self, until: int, *, busy: bool) -> None:
        """Show the blocks up to step `until`; `busy` says that earlier ones are still being read."""
        self.run_method('show', until, busy)


class Tree(Element, component=ASSETS / 'tree.js'):
    """A JSON document that can be opened branch by branch."""

    def __init__(self, value: dict[str, Any], *, on_follow: Callable[[str], Any] | None = None) -> None:
        """Show `value`; `on_follow` gets the pointer of a node whose next change is asked for."""
        super().__init__()
        self._props |= {'value': value, 'changed': [], 'follows': on_follow is not None}
        if on_follow:
            self.on('follow', lambda event: on_follow(str(event.args)))

    def show(self, value: dict[str, Any], changed: Sequence[str]) -> None:
        """Show another document; `changed` are the pointers that are marked."""
        with self._props.suspend_updates():
            self._props |= {'value': value, 'changed': list(changed)}
        self.run_method('show', value, list(changed))


class Splits(Element, component=ASSETS / 'splits.js'):
    """The splitters of the grid that it stands in."""

    def __init__(self) -> None:
        """Show none yet."""
        super().__init__()
        self._props |= {'columns': 0, 'rows': 0}

    def show(self, columns: int, rows: int) -> None:
        """Put one between each two columns and each two rows."""
        if (self._props['columns'], self._props['rows']) != (columns, rows):
            self._props |= {'columns': columns, 'rows': rows}
            self.update()


class FileTree(Element, component=ASSETS / 'files.js'):
    """The files of a folder."""

    def __init__(self, on_pick: Callable[[str], Any], *, label: str) -> None:
        """Show none yet; `on_pick` gets the path of the file that was clicked."""
        super().__init__()
        self._props |= {'files': [], 'picked': '', 'label': label}
        self.on('pick', lambda event: on_pick(str(event.args)))

    def show(self, files: Sequence[dict[str, Any]], picked: str) -> None:
        """Show files (path, note, mark), of which one is picked."""
        shown = list(files)
        known = self._props['files'] == shown
        with self._props.suspend_updates():
            self._props |= {'files': shown, 'picked': picked}
        if known:
            self.run_method('pick', picked)
        else:
            self.run_method('show', shown, picked)


class Code(Element, component=ASSETS / 'code.js'):
    """Lines of text with their numbers, or of a diff (`ui.files.rows`)."""

    def __init__(self) -> None:
        """Show nothing yet."""
        super().__init__()
        self._props |= {'rows': [], 'label': ''}

    def show(self, rows: Sequence[Sequence[Any]], label: str) -> None:
        """Show these rows: a kind (`''` in a file), the numbers before and after, the text."""
        with self._props.suspend_updates():
            self._props |= {'rows': list(rows), 'label': label}
        self.run_method('show', list(rows), label)


class Combobox(ValueElement[str], component=ASSETS / 'combobox.js'):
    """A line to type into, with a list that narrows; what is typed need not be in the list."""

    VALUE_PROP = 'value'
    LOOPBACK = False

    def __init__(self, value: str, *, label: str) -> None:
        """Hold `value`; `label` names the list for who cannot see it. `offer` fills it."""
        super().__init__(value=value)
        self._props.pop('loopback')
        self._props |= {'groups': [], 'busy': '', 'label': label}

    def offer(self, groups: Sequence[dict[str, Any]], busy: str = '') -> None:
        """Offer groups (`label`, `note` and `options`); `busy` says what is still looked for."""
        if (self._props['groups'], self._props['busy']) != (groups, busy):
            self._props |= {'groups': list(groups), 'busy': busy}
            self.update()


def narration() -> ui.label:
    """A line that screen readers speak when it changes, and nobody sees."""
    return ui.label().classes('visually-hidden').props('aria-live="polite"')
