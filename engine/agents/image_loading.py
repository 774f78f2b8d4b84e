"""Image loading: loads the images of a conversation for a model call."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from engine.errors import FilesUnavailable, WorkspaceError
from engine.records.message import Image, Message
from engine.workspace.workspace import Workspace

MAX_IMAGES = 20
"""Maximum number of images per request, the newest ones: each is paid for again with every turn."""


async def load_images(messages: Sequence[Message], workspace: Workspace) -> dict[str, str]:
    """Return the newest images in base64, by digest; those no longer stored are left out."""
    # Only tool results hold images, and each call scans the whole conversation.
    results = (message for message in messages if message.role == 'tool')
    shown = [part.digest for message in results for part in message.parts if isinstance(part, Image)]
    found: dict[str, str] = {}
    for digest in list(dict.fromkeys(reversed(shown)))[:MAX_IMAGES]:
        try:
            found[digest] = base64.b64encode(await workspace.load(digest)).decode()
        except FilesUnavailable:
            raise  # It is stored, and will be available again.
        except WorkspaceError:
            continue
    return found
