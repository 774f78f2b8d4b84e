"""Images that tools find, for models that see."""

from __future__ import annotations

from engine.records.message import Image
from engine.workspace.workspace import Workspace

STARTS = (
    (b'\x89PNG\r\n\x1a\n', 'image/png'),
    (b'\xff\xd8\xff', 'image/jpeg'),
    (b'GIF87a', 'image/gif'),
    (b'GIF89a', 'image/gif'),
)
"""How the formats begin that every provider takes, besides WebP."""
LARGEST = 3_750_000
"""Bytes: with base64's third more, the 5 MB that Anthropic takes."""


def image_type(data: bytes) -> str:
    """The media type of an image by its first bytes; '' if it is none that models take."""
    if data[:4] == b'RIFF' and data[8:12] == b'WEBP':
        return 'image/webp'
    return next((kind for start, kind in STARTS if data.startswith(start)), '')


async def keep_image(data: bytes, workspace: Workspace) -> Image | None:
    """Store an image apart from the run's files; None if models do not take it."""
    kind = image_type(data)
    if not kind or len(data) > LARGEST:
        return None
    return Image(media_type=kind, digest=await workspace.store(data))
