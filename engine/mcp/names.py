"""Names of tools as every provider takes them: letters, digits, `_` and `-`, 64 at most."""

from __future__ import annotations

import re
import zlib
from collections.abc import Container

LONGEST = 64
WILDCARD = 'mcp:'
"""`mcp:<server>` is all tools of a server."""


def named(server: str, tool: str, taken: Container[str] = ()) -> str:
    """The name of a server's tool, with the server's before it; where it had to be changed, with a digest."""
    plain = re.sub(r'[^A-Za-z0-9_-]', '_', f'{server}_{tool}')
    if len(plain) <= LONGEST and plain not in taken and plain == f'{server}_{tool}':
        return plain
    digest = f'{zlib.crc32(tool.encode()):08x}'
    return f'{plain[: LONGEST - len(digest) - 1]}_{digest}'
