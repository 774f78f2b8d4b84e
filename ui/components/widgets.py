"""Small parts of pages and forms: text in any tag, a link, a native select, a labelled control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from nicegui import ui
from nicegui.awaitable_response import AwaitableResponse, NullResponse
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement
from nicegui.elements.mixins.value_element import ValueElement

T = TypeVar('T')
NOTHING = object()
"""Equal to nothing that a part shows."""


def draw_changes(
    place: Element, drawn: dict[str, tuple[T, Element]], wanted: Mapping[str, T], draw: Callable[[T], Element]
) -> None:
    """Show `wanted` in `place`, in order. Only new and changed parts are drawn: others keep their input."""
    for key in [key for key, (one, _) in drawn.items() if wanted.get(key) != one]:
        drawn.pop(key)[1].delete()
    with place:
        for index, (key, one) in enumerate(wanted.items()):
            if key not in drawn:
                drawn[key] = one, draw(one)
            if place.default_slot.children.index(drawn[key][1]) != index:
                drawn[key][1].move(target_index=index)


class Redrawn(Element):
    """A part of a page that is drawn anew only when what it shows changes: others keep focus and clicks."""

    def __init__(self, tag: str = 'div') -> None:
        """Start empty."""
        super().__init__(tag)
        self._shown: object = NOTHING

    def begin(self, shown: object) -> bool:
        """Return whether this is not what it shows yet; if so, it is empty now, to be drawn."""
        if shown == self._shown:
            return False
        self._shown = shown
        self.clear()
        return True


class Text(TextElement):
    """Text in any tag: headings, paragraphs, options."""

    def __init__(self, tag: str, text: str, classes: str = '', **attributes: str) -> None:
        """Show `text`; attributes are given as Python names, `aria_label` for `aria-label`."""
        super().__init__(tag=tag, text=text)
        self.classes(classes)
        set_attributes(self, **attributes)

    def show(self, text: str) -> None:
        """Show another text, if it differs."""
        if self.text != text:
            self.set_text(text)


def table_head(names: Iterable[str]) -> None:
    """Draw the head of a table; '' is a column without a header."""
    with Element('thead'), Element('tr'):
        for name in names:
            Text('th', name, scope='col') if name else Text('td', '')


class NativeSelect(ValueElement[str]):
    """The browser's own select: works with every keyboard, screen reader and phone."""

    VALUE_PROP = 'value'
    LOOPBACK = None

    def __init__(
        self, options: Mapping[str, str], *, value: str, on_change: Callable[[], Any] | None = None
    ) -> None:
        """Offer `options`, a mapping of values to their labels."""
        super().__init__(tag='select', value=value, on_value_change=None)
        self._props.pop('loopback')
        self.classes('select')
        self.options: dict[str, str] = {}
        self.set_options(options)
        self.on(
            'change', lambda event: self.set_value(str(event.args)), js_handler='(e) => emit(e.target.value)'
        )
        if on_change:
            self.on_value_change(lambda _: on_change())

    def set_options(self, options: Mapping[str, str]) -> None:
        """Offer other options; the value stays, and remains one of them."""
        wanted = dict(options)
        if self.value not in wanted:
            wanted[self.value] = self.value
        if wanted != self.options:
            self.options = wanted
            self.clear()
            with self:
                for value, shown in wanted.items():
                    set_attributes(TextElement(tag='option', text=shown), value=value)


def set_attributes(element: Element, **attributes: str) -> None:
    """Set HTML attributes to arbitrary texts, which `props()` would have to parse."""
    for name, value in attributes.items():
        element.props[name.rstrip('_').replace('_', '-')] = value


def set_class(element: Element, name: str, *, on: object) -> None:
    """Give the element a CSS class, or take it away."""
    element.classes(add=name if on else '', remove='' if on else name)


@contextmanager
def link(path: str, classes: str = '', **attributes: str) -> Iterator[Element]:
    """Draw a link to one of our pages, around its children."""
    with ui.element('a').classes(classes) as element:
        set_attributes(element, href=path, **attributes)
        yield element


def text_link(path: str, text: str, classes: str = '', *, icon: str = '', **attributes: str) -> Element:
    """Draw a link with a text, after an icon if one is given."""
    with link(path, classes, **attributes) as element:
        if icon:
            ui.icon(icon)
        Text('span', text)
    return element


def disclosure(opened: set[str], key: str, title: str, classes: str = '', inside: str = '') -> Element:
    """Draw a collapsible section, and return its body. `opened` remembers its state across redraws."""
    with ui.element('details').classes(classes) as details:
        Text('summary', title)
        body = ui.element('div').classes(inside)
    if key in opened:
        details.props('open')
    details.on(
        'toggle',
        lambda event: (opened.add if event.args else opened.discard)(key),
        js_handler='(event) => emit(event.target.open)',
    )
    return body


def label(text: str, control: Element, classes: str = 'label') -> Text:
    """Draw the visible label of a control; a click on it focuses the control."""
    return Text('label', text, classes, for_=control.html_id)


class _Filled(ui.input):
    """A field whose first value is sent with it: sent again, it would replace what has been typed."""

    _sent = False

    def _to_dict(self) -> dict[str, Any]:
        self._sent = True
        return super()._to_dict()

    def run_method(self, name: str, *args: Any, timeout: float = 1) -> AwaitableResponse:
        """Call a method of the field in the browser."""
        if name == 'updateValue' and not (self._sent and self.client.has_socket_connection):
            return NullResponse()
        return super().run_method(name, *args, timeout=timeout)


class _FilledArea(_Filled, ui.textarea):
    """The same with several lines."""


def text_input(text: str = '', *, kind: str = 'text', **attributes: str) -> ui.input:
    """Draw a one-line text field, without a label."""
    field = _Filled(value=text).props(f'borderless dense hide-bottom-space type="{kind}"').classes('input')
    set_attributes(field, **attributes)
    return field


def text_area(text: str = '', **attributes: str) -> ui.textarea:
    """Draw a multi-line text field that grows with its content, without a label."""
    field = _FilledArea(value=text).props('borderless autogrow hide-bottom-space').classes('input area')
    set_attributes(field, **attributes)
    return field
