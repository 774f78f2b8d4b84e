"""Clicks on buttons of ours, which hold their text in a label."""

from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction


def click(user: User, text: str) -> None:
    """Click the button that holds this text."""
    for label in user.find(content=text).elements:
        for element in (label, *label.ancestors()):
            if element.tag == 'button':
                with user.client:
                    UserInteraction(user, {element}, None).click()
                return
    raise AssertionError(f'no button says {text!r}')
