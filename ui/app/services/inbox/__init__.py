"""The inbox: everything that waits for a person, across all runs. Each question is answered once."""

from ui.app.services.inbox.inbox import (
    Inbox,
    InboxItem,
    InboxPage,
    QuestionClosed,
    UnknownQuestion,
    question_path,
)
from ui.app.services.inbox.questions import Ask, wait_texts

__all__ = [
    'Ask',
    'Inbox',
    'InboxItem',
    'InboxPage',
    'QuestionClosed',
    'UnknownQuestion',
    'question_path',
    'wait_texts',
]
