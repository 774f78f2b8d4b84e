"""Loads the images of a conversation for a model call."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from engine.errors import FilesUnavailable, WorkspaceError
from engine.records.message import Image, Message
from engine.workspace.workspace import Workspace

MAX_IMAGES = 20
"""Images per request, the newest: each is paid for again with every turn."""


async def load_images(messages: Sequence[Message], workspace: Workspace) -> dict[str, str]:
    """The newest images in base64, by digest; those no longer stored are left out."""
    # Only results of tools hold images: what was said before is looked at again with each call.
    results = (message for message in messages if message.role == 'tool')
    shown = [part.digest for message in results for part in message.parts if isinstance(part, Image)]
    found: dict[str, str] = {}
    for digest in list(dict.fromkeys(reversed(shown)))[:MAX_IMAGES]:
        try:
            found[digest] = base64.b64encode(await workspace.load(digest)).decode()
        except FilesUnavailable:
            raise  # It is stored, and will be there again.
        except WorkspaceError:
            continue
    return found
