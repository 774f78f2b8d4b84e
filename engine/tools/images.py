"""Images from tools, for models that accept images."""

from __future__ import annotations

import struct

from engine.records.message import Image
from engine.workspace.workspace import Workspace

STARTS = (
    (b'\x89PNG\r\n\x1a\n', 'image/png'),
    (b'\xff\xd8\xff', 'image/jpeg'),
    (b'GIF87a', 'image/gif'),
    (b'GIF89a', 'image/gif'),
)
"""The first bytes of the formats that every provider accepts, except WebP."""
MAX_IMAGE_BYTES = 3_750_000
"""Maximum bytes: Base64 adds a third, and Anthropic accepts 5 MB."""
MAX_SIDE = 8_000
"""Maximum pixels per side: providers reject a whole request that contains a larger image."""

MAX_PARTS = 10_000
"""Maximum parts to scan: more than images have, and few enough not to block the server."""


def image_type(data: bytes) -> str:
    """Return the media type of an image by its first bytes; '' if models do not accept it."""
    if data[:4] == b'RIFF' and data[8:12] == b'WEBP':
        return 'image/webp'
    return next((kind for start, kind in STARTS if data.startswith(start)), '')


def image_problem(data: bytes) -> str:
    """Return why models do not accept an image, or ''. Not decoded: a few bytes can claim many pixels."""
    if len(data) > MAX_IMAGE_BYTES:
        return f'it is too large for a model: at most {MAX_IMAGE_BYTES:,} bytes'
    measure = {'image/png': _png, 'image/jpeg': _jpeg, 'image/gif': _gif, 'image/webp': _webp}
    try:
        size = measure[image_type(data)](data)
    except (IndexError, struct.error):
        size = None
    if size is None or 0 in size:
        return 'it is incomplete'
    return f'it is too large for a model: at most {MAX_SIDE:,} pixels a side' if max(size) > MAX_SIDE else ''


async def keep_image(data: bytes, workspace: Workspace) -> Image | None:
    """Store an image separately from the run's files; None if models do not accept it."""
    kind = image_type(data)
    if not kind or image_problem(data):
        return None
    return Image(media_type=kind, digest=await workspace.store(data))


Size = tuple[int, int] | None
"""Width and height in pixels; None if the end of the image is missing."""


def _png(data: bytes) -> Size:
    at, size = 8, None
    for _ in range(MAX_PARTS):
        length, name = struct.unpack_from('>I4s', data, at)
        if name == b'IHDR':
            size = struct.unpack_from('>II', data, at + 8)
        at += 12 + length
        if name == b'IEND':
            return size if at <= len(data) else None
    return None


def _jpeg(data: bytes) -> Size:
    at, size = 2, None
    for _ in range(MAX_PARTS):
        mark, kind = data[at], data[at + 1]
        if mark != 0xFF:
            return None
        if kind == 0xFF:  # Padding.
            at += 1
            continue
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from('>HH', data, at + 5)
            size = (width, height)
        elif kind == 0xDA:  # The pixels, which cannot contain the end marker.
            return size if data.find(b'\xff\xd9', at) > 0 else None
        alone = kind == 0x01 or 0xD0 <= kind <= 0xD7
        at += 2 if alone else 2 + struct.unpack_from('>H', data, at + 2)[0]
    return None


def _gif(data: bytes) -> Size:
    return struct.unpack_from('<HH', data, 6) if data.rstrip(b'\0').endswith(b';') else None


def _webp(data: bytes) -> Size:
    if len(data) < 8 + struct.unpack_from('<I', data, 4)[0]:
        return None
    match data[12:16]:
        case b'VP8X':
            return 1 + int.from_bytes(data[24:27], 'little'), 1 + int.from_bytes(data[27:30], 'little')
        case b'VP8L':
            bits = struct.unpack_from('<I', data, 21)[0]
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b'VP8 ':
            width, height = struct.unpack_from('<HH', data, 26)
            return width & 0x3FFF, height & 0x3FFF
    return None
