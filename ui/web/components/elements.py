"""Elements that run in the browser: diagram, conversation, messages, trees, code, combobox."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.value_element import ValueElement

from ui.formatting.diagram.overlays import Layer
from ui.web.components.assets import ASSETS


class Diagram(Element, component=ASSETS / 'diagram' / 'diagram.js'):
    """A chart's SVG, highlighted by CSS class."""

    def __init__(  # noqa: PLR0913  (all but the first two have defaults)
        self,
        svg: str,
        *,
        title: str,
        label: str = '',
        states: Sequence[str] = (),
        on_pick: Callable[[str], Any] | None = None,
        on_fold: Callable[[str], Any] | None = None,
        on_context: Callable[[Mapping[str, Any]], Any] | None = None,
        opens_agents: bool = False,
    ) -> None:
        """Show `svg`, a chart of the pattern `title`; `states` are the paths listed for screen readers.

        `label` is its accessible name, if it is more than a state diagram.

        `on_pick` gets the clicked state, `on_fold` the double-clicked one;
        with `opens_agents`, also an agent that is clicked, instead of `on_pick`. `on_context` gets the
        target of a context menu: its `kind` (`state`, `edge`; '' for the background), its `name`, and where
        (`x`, `y`).
        """
        super().__init__()
        self._props |= {
            'svg': svg,
            'title': title,
            'label': label or f'State diagram of {title}',
            'highlights': {},
            'overlays': {},
            'texts': {},
            'foldable': opens_agents,
            'states': list(states),
            'pickable': on_pick is not None,
        }
        if on_pick:
            self.on('pick', lambda event: on_pick(str(event.args)))
        if on_fold:
            self.on('fold', lambda event: on_fold(str(event.args)))
        if on_context:
            self.on('context', lambda event: on_context(event.args))

    def on_edge(self, handler: Callable[[str, str], Any]) -> None:
        """Call `handler` with an edge's name (`edge_name`), and `hover`, `focus` or `press`.

        The name is '' for `leave` (the pointer has left) and `close`.
        """
        self.on('edge', lambda event: handler(*map(str, event.args)))

    def on_resize(self, handler: Callable[[int, int, bool], Awaitable[None]]) -> None:
        """Call `handler` with width and height in pixels, and whether a person has panned or zoomed."""

        async def measure(event: Any) -> None:
            await handler(*event.args)
            self.run_method('markFitted', event.args[:2])

        self.on('room', measure)

    def show(self, svg: str, states: Sequence[str] | None = None) -> None:
        """Show another chart; without `states`, one with the same states."""
        self._props['svg'] = svg
        if states is not None:
            self._props['states'] = list(states)

    def highlight(self, highlights: dict[str, Any]) -> None:
        """Highlight states and edges (`rendering.highlight`)."""
        if self._props['highlights'] != highlights:
            with self._props.suspend_updates():  # the drawing itself need not be sent again
                self._props['highlights'] = highlights
            self.run_method('updateHighlights', highlights)

    def show_cards(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        """Write what agents do on their cards, by path: `state`, `spent`, `live`."""
        shown = self._props['texts']
        changed = {path: text for path, text in texts.items() if shown.get(path) != text}
        if changed:
            with self._props.suspend_updates():
                self._props['texts'] = {**shown, **changed}
            self.run_method('showCards', changed)

    def preload(self, track: Mapping[str, Any]) -> None:
        """Send the highlights of all steps, so that they follow a dragged slider without delay.

        `track` has the first step by state and by edge (`visits`, `traversed`), the states that wait for a
        person (`waits`), and for each step the active states and the taken edges (`steps`).
        """
        self.run_method('loadTrack', track)

    def overlay(self, layer: str, decorations: Layer) -> None:
        """Decorate states and edges in the named layer, replacing its earlier decorations."""
        layers = {**self._props['overlays'], layer: decorations}
        if decorations != self._props['overlays'].get(layer, {}):
            with self._props.suspend_updates():
                self._props['overlays'] = {name: parts for name, parts in layers.items() if parts}
            self.run_method('updateOverlays', self._props['overlays'])


class Conversation(Element, component=ASSETS / 'conversation' / 'conversation.js'):
    """Blocks of text, of which only new ones are sent, and streamed text."""

    def __init__(self, blocks: Sequence[dict[str, Any]], *, label: str, follow: bool = True) -> None:
        """Show `blocks`; with `follow` it stays scrolled to the end while that is visible."""
        super().__init__()
        self._blocks = list(blocks)
        self._props |= {'blocks': self._blocks, 'label': label, 'follow': follow}

    def show(self, blocks: Sequence[dict[str, Any]]) -> bool:
        """Show these blocks, leaving those already shown, and return whether any differs."""
        keep = count_equal_prefix(self._blocks, blocks)
        if keep == len(self._blocks) == len(blocks):
            return False
        self._blocks = list(blocks)
        with self._props.suspend_updates():  # the browser gets the difference, below
            self._props['blocks'] = self._blocks
        self._call('splice', keep, self._blocks[keep:])
        return True

    def would_remove(self, blocks: Sequence[dict[str, Any]]) -> bool:
        """Return whether `show` would remove something that is shown, as when another conversation begins."""
        keep = count_equal_prefix(self._blocks, blocks)
        old, new = self._blocks[keep : keep + 1], blocks[keep : keep + 1]
        called = ('kind', 'title', 'arguments')
        return bool(old) and not (
            new and 'state' in old[0] and all(old[0][key] == new[0][key] for key in called)
        )

    def drop_first(self, count: int) -> None:
        """Drop the first blocks; the page removes them once nobody is reading them."""
        self._blocks = self._blocks[count:]
        with self._props.suspend_updates():
            self._props['blocks'] = self._blocks
        self._call('markStale', count)

    def append(self, kind: str, text: str) -> None:
        """Append a streamed piece."""
        self._call('append', kind, text)

    def reset(self) -> None:
        """Discard the streamed text."""
        self._call('clearStream')

    def _call(self, method: str, *args: Any) -> None:
        calls = _batched_calls.get()
        if calls is None:
            self.run_method(method, *args)
        else:
            calls.append(f'runMethod({self.id}, "{method}", {json.dumps(args)});')


def draw_markdown(text: str, label: str) -> None:
    """Draw a text as Markdown, in full; `label` is its accessible name."""
    Conversation([{'kind': 'text', 'text': text}], label=label, follow=False)


def count_equal_prefix(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Count the leading items that are already shown."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (old, new) in pairs if old != new), min(len(before), len(after)))


_batched_calls: ContextVar[list[str] | None] = ContextVar('gathered', default=None)


@contextmanager
def batch_updates() -> Iterator[None]:
    """Batch all updates of the page's conversations inside the context into one message.

    With twelve panes, a message for each costs the browser more than the text in it.
    """
    calls: list[str] = []
    before = _batched_calls.set(calls)
    try:
        yield
    finally:
        _batched_calls.reset(before)
        if calls:
            ui.context.client.run_javascript(''.join(calls))


class TranscriptList(Element, component=ASSETS / 'conversation' / 'transcript_list.js'):
    """Thousands of text blocks with a filter, stored only in the browser and drawn near the viewport."""

    def __init__(self, *, label: str) -> None:
        """Start empty; `label` is the accessible name."""
        super().__init__()
        self._props |= {'label': label}

    def add(self, blocks: Sequence[dict[str, Any]], *, before: bool = False) -> None:
        """Add blocks, each with its `step`, after the existing ones, or before them."""
        if blocks:
            self.run_method('prepend' if before else 'append', list(blocks))

    def remove_all(self) -> None:
        """Empty the list in the browser."""
        self.run_method('clear')

    def show(self, until: int, *, busy: bool) -> None:
        """Show the blocks up to step `until`; `busy` says that earlier ones are still loading."""
        self.run_method('show', until, busy)


class JsonTree(Element, component=ASSETS / 'viewers' / 'json_tree.js'):
    """A JSON document that can be expanded branch by branch."""

    def __init__(self, value: dict[str, Any], *, on_follow: Callable[[str], Any] | None = None) -> None:
        """Show `value`; `on_follow` gets the pointer of a node whose next change is requested."""
        super().__init__()
        self._props |= {'value': value, 'changed': [], 'words': {}, 'follows': on_follow is not None}
        self._props['data-redrawn'] = ''
        if on_follow:
            self.on('follow', lambda event: on_follow(str(event.args)))

    def show(self, value: dict[str, Any], changed: Sequence[str], words: Mapping[str, str]) -> None:
        """Show another document; `changed` are the pointers to mark, `words` the display texts of strings."""
        content = {'value': value, 'changed': list(changed), 'words': dict(words)}
        with self._props.suspend_updates():
            self._props |= content
        self.run_method('show', *content.values())


class Splitters(Element, component=ASSETS / 'controls' / 'splitters.js'):
    """The splitters of the surrounding grid."""

    def __init__(self, *, storage_key: str = '') -> None:
        """Start without splitters; the browser stores their sizes under `storage_key`, if given."""
        super().__init__()
        self._props |= {'columns': 0, 'rows': 0, 'storageKey': storage_key}

    def show(self, columns: int, rows: int) -> None:
        """Put a splitter between adjacent columns and between adjacent rows."""
        if (self._props['columns'], self._props['rows']) != (columns, rows):
            self._props |= {'columns': columns, 'rows': rows}


class Engagement(Element, component=ASSETS / 'conversation' / 'engagement.js'):
    """Reports whether the focus or the selection is in a text of the surrounding element."""

    def __init__(self, on_change: Callable[[bool], Any]) -> None:
        """Call `on_change` whenever that changes."""
        super().__init__()
        self.on('change', lambda event: on_change(bool(event.args)))


class FileTree(Element, component=ASSETS / 'viewers' / 'file_tree.js'):
    """A tree of the files of a folder, to pick one."""

    def __init__(self, on_pick: Callable[[str], Any], *, label: str) -> None:
        """Start empty; `on_pick` gets the path of the clicked file."""
        super().__init__()
        self._props |= {'files': [], 'picked': '', 'label': label}
        self.on('pick', lambda event: on_pick(str(event.args)))

    def show(self, files: Sequence[dict[str, Any]], picked: str) -> None:
        """Show files (path, note, mark), one of them selected."""
        lines = list(files)
        is_same = self._props['files'] == lines
        with self._props.suspend_updates():
            self._props |= {'files': lines, 'picked': picked}
        if is_same:
            self.run_method('pick', picked)
        else:
            self.run_method('show', lines, picked)


class Code(Element, component=ASSETS / 'viewers' / 'code.js'):
    """Numbered lines of text or of a diff (`ui.formatting.files.diff_rows`)."""

    def __init__(self, on_line: Callable[[int], Any] | None = None) -> None:
        """Start empty; `on_line` gets the number of the clicked line."""
        super().__init__()
        self._props |= {'rows': [], 'label': ''}
        if on_line:
            self.on('line', lambda event: on_line(int(event.args)))

    def show(self, rows: Sequence[Sequence[Any]], label: str) -> None:
        """Show these rows: a kind (`''` in a file), the numbers before and after, the text."""
        with self._props.suspend_updates():
            self._props |= {'rows': list(rows), 'label': label}
        self.run_method('show', list(rows), label)


class Combobox(ValueElement[str], component=ASSETS / 'controls' / 'combobox.js'):
    """A text field with a list that narrows while typing; other values are allowed, too."""

    VALUE_PROP = 'value'
    LOOPBACK = False

    def __init__(self, value: str, *, label: str, empty_text: str, single: bool = False) -> None:
        """Hold `value`; `label` is the list's accessible name. `set_groups` fills the list.

        `empty_text` is shown where nothing in the list matches. With `single` it holds one value, otherwise
        a comma-separated list.
        """
        super().__init__(value=value)
        self._props.pop('loopback')
        self._props |= {'groups': [], 'busy': '', 'label': label, 'none': empty_text, 'single': single}

    def set_groups(self, groups: Sequence[dict[str, Any]], busy: str = '') -> None:
        """Offer groups (`label`, `note` and `options`); `busy` says what is still loading."""
        if (self._props['groups'], self._props['busy']) != (groups, busy):
            self._props |= {'groups': list(groups), 'busy': busy}


def live_region() -> ui.label:
    """Draw a visually hidden line that screen readers announce when it changes."""
    return ui.label().classes('visually-hidden').props('aria-live="polite"')


class DiffText(Element, component=ASSETS / 'viewers' / 'diff_text.js'):
    """A text in which the parts that the other text lacks are marked."""

    def __init__(self, pieces: Sequence[tuple[bool, str]], side: str) -> None:
        """`side` is A or B; the pieces are those of `engine.history.diff_words`."""
        super().__init__()
        self._props |= {'pieces': [list(piece) for piece in pieces], 'side': side}
