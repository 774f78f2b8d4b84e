"""Clicks on our buttons, which hold their text in a label; entries in controls; and texts that appear."""

import asyncio
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction

from ui.web.components.widgets import Text


async def see(user: User, *texts: str, retries: int = 3) -> None:
    """Wait until each of these texts is shown."""
    for text in texts:
        await user.should_see(text, retries=retries)


def click(user: User, text: str) -> None:
    """Click the button that holds this text."""
    for label in user.find(content=text).elements:
        for element in (label, *label.ancestors()):
            if element.tag == 'button':
                press(user, element)
                return
    raise AssertionError(f'no button says {text!r}')


def press(user: User, *elements: ui.element) -> None:
    """Click these elements."""
    with user.client:
        UserInteraction(user, set(elements), None).click()


def labelled(user: User, label: str) -> list[ui.element]:
    """Return the visible elements with this accessible name."""
    elements = user.client.elements.values()
    return [element for element in elements if element.visible and element.props.get('aria-label') == label]


def press_labelled(user: User, label: str) -> None:
    """Click the only visible element with this accessible name."""
    (element,) = labelled(user, label)
    press(user, element)


def answer(user: User, text: str) -> None:
    """Click the button that holds this text in the dialog that is open."""
    for label in user.find(content=text).elements:
        above = [label, *label.ancestors()]
        for element in above:
            if element.tag == 'button' and any(isinstance(item, ui.dialog) and item.value for item in above):
                press(user, element)
                return
    raise AssertionError(f'no open dialog has a button that says {text!r}')


def open_fold(user: User, title: str) -> None:
    """Open the fold with this title, drawn last, which may draw its content only then."""
    for label in sorted(user.find(content=title).elements, key=lambda item: -item.id):
        for element in label.ancestors():
            if element.tag == 'details':
                with user.client:
                    UserInteraction(user, {element}, None).trigger('toggle')
                return
    raise AssertionError(f'no fold has the title {title!r}')


async def hide_answered(user: User) -> None:
    """Wait until all dialogs are answered, and report them hidden, as a browser does."""
    dialogs = [element for element in user.client.elements.values() if isinstance(element, ui.dialog)]
    for _ in range(100):
        if not any(dialog.value for dialog in dialogs):
            break
        await asyncio.sleep(0.05)
    for dialog in dialogs:
        with user.client:
            UserInteraction(user, {dialog}, None).trigger('hide')


def control(user: User, label: str) -> ValueElement[Any]:
    """Return the visible control with this label, in the dialog opened last."""
    elements = list(user.client.elements.values())
    ids = [
        element.props['for']
        for element in elements
        if element.visible and isinstance(element, Text) and (element.tag, element.text) == ('label', label)
    ]
    (found,) = [element for element in elements if ids and element.html_id == ids[-1]]
    assert isinstance(found, ValueElement)
    return found


def enter(user: User, label: str, value: Any) -> None:
    """Enter or choose a value in the control with this label."""
    with user.client:
        control(user, label).set_value(value)
