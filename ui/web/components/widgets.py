"""Small parts of pages and forms: text in any tag, a link, a native select, a labelled control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from nicegui import ui
from nicegui.awaitable_response import AwaitableResponse, NullResponse
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement
from nicegui.elements.mixins.value_element import ValueElement
from typing_extensions import override

T = TypeVar('T')
Attribute = str | bool
"""The value of an HTML attribute: True sets it without a value, False leaves it out."""
UNSET = object()
"""Equal to no key."""


def draw_changes(
    parent: Element, drawn: dict[str, tuple[T, Element]], items: Mapping[str, T], draw: Callable[[T], Element]
) -> None:
    """Show `items` in `parent`, in order. Only new and changed ones are drawn: others keep their input."""
    for key in [key for key, (item, _) in drawn.items() if items.get(key) != item]:
        drawn.pop(key)[1].delete()
    with parent:
        for index, (key, item) in enumerate(items.items()):
            if key not in drawn:
                drawn[key] = item, draw(item)
            if parent.default_slot.children.index(drawn[key][1]) != index:
                drawn[key][1].move(target_index=index)


class Box(Element):
    """An HTML element around others: `Box('panel-head')`, `Box('card', 'section', aria_label='Result')`."""

    def __init__(self, classes: str = '', tag: str = 'div', **attributes: Attribute) -> None:
        """Draw it, empty; `attributes` are those of `set_attributes`."""
        super().__init__(tag)
        self.classes(classes)
        set_attributes(self, **attributes)


class CachedElement(Box):
    """A part of a page that is redrawn only when its content changes, so that it keeps focus and clicks."""

    def __init__(self, classes: str = '', tag: str = 'div', **attributes: Attribute) -> None:
        """Start empty."""
        super().__init__(classes, tag, **attributes)
        self._key: object = UNSET

    def clear_if_changed(self, key: object) -> bool:
        """Clear it and return True if `key`, which stands for its content, has changed."""
        if key == self._key:
            return False
        self._key = key
        self.clear()
        return True


class Text(TextElement):
    """Text in any tag: headings, paragraphs, options."""

    def __init__(self, tag: str, text: str, classes: str = '', **attributes: Attribute) -> None:
        """Show `text`; `attributes` are those of `set_attributes`."""
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
        offered = dict(options)
        if self.value not in offered:
            offered[self.value] = self.value
        if offered != self.options:
            self.options = offered
            self.clear()
            with self:
                for value, label_text in offered.items():
                    set_attributes(TextElement(tag='option', text=label_text), value=value)


class SecretInput(ValueElement[str]):
    """The browser’s own password field: what is typed is in no attribute of the page, and not sent back."""

    VALUE_PROP = 'value'
    LOOPBACK = None

    def __init__(self, **attributes: Attribute) -> None:
        super().__init__(tag='input', value='', on_value_change=None)
        for name in ('loopback', self.VALUE_PROP):
            self._props.pop(name)
        self.classes('secret-input')
        set_attributes(self, type='password', autocomplete='off', **attributes)
        self.on(
            'input', lambda event: self.set_value(str(event.args)), js_handler='(e) => emit(e.target.value)'
        )

    @override
    def _handle_value_change(self, value: str) -> None:
        self._send_update_on_value_change = False
        super()._handle_value_change(value)
        self._props.pop(self.VALUE_PROP, None)


def set_attributes(element: Element, **attributes: Attribute) -> None:
    """Set HTML attributes to arbitrary texts, which `props()` would have to parse.

    Their names are Python's: `aria_label` for `aria-label`, `for_` for `for`.
    """
    for name, value in attributes.items():
        if value is not False:
            element.props[name.rstrip('_').replace('_', '-')] = value


def set_class(element: Element, name: str, *, on: object) -> None:
    """Give the element a CSS class, or take it away."""
    element.classes(add=name if on else '', remove='' if on else name)


def link(path: str, classes: str = '', **attributes: Attribute) -> Box:
    """Draw a link to one of our pages, around its children."""
    return Box(classes, 'a', href=path, **attributes)


def text_link(path: str, text: str, classes: str = '', *, icon: str = '', **attributes: Attribute) -> Element:
    """Draw a link with a text, after an icon if one is given."""
    with link(path, classes, **attributes) as element:
        if icon:
            ui.icon(icon)
        Text('span', text, dir='auto')
    return element


def disclosure(opened: set[str], key: str, title: str, classes: str = '', inside: str = '') -> Element:
    """Draw a collapsible section, and return its body. `opened` remembers its state across redraws."""
    with Box(classes, 'details') as details:
        Text('summary', title)
        body = Box(inside)
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


class _PrefilledInput(ui.input):
    """A field that is sent with its first value; sent again, that would replace what has been typed."""

    _sent = False

    def _to_dict(self) -> dict[str, Any]:
        self._sent = True
        return super()._to_dict()

    def run_method(self, name: str, *args: Any, timeout: float = 1) -> AwaitableResponse:
        """Call a method of the field in the browser."""
        if name == 'updateValue' and not (self._sent and self.client.has_socket_connection):
            return NullResponse()
        return super().run_method(name, *args, timeout=timeout)


class _PrefilledArea(_PrefilledInput, ui.textarea):
    """The same with several lines."""


def text_input(text: str = '', *, kind: str = 'text', **attributes: Attribute) -> ui.input:
    """Draw a one-line text field, without a label."""
    field = (
        _PrefilledInput(value=text)
        .props(f'borderless dense hide-bottom-space type="{kind}"')
        .classes('input')
    )
    set_attributes(field, **attributes)
    return field


def text_area(text: str = '', **attributes: Attribute) -> ui.textarea:
    """Draw a multi-line text field that grows with its content, without a label."""
    field = _PrefilledArea(value=text).props('borderless autogrow hide-bottom-space').classes('input area')
    set_attributes(field, **attributes)
    return field
