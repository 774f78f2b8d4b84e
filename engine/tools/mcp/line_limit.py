"""A limit for the lines of an MCP server: the package would buffer an endless line in memory."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from pydantic import ValidationError

from engine.tools.mcp.config import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from typing_extensions import Buffer

ENCODING = 'utf_8_of_limited_lines'
"""UTF-8, with `CUT` in place of a line that is too long."""
CUT = 'this line is too long'
TOO_LONG = f'it wrote a line of more than {MAX_MESSAGE_BYTES:,} characters'
TOO_DEEP = 'it wrote a message that is nested too deep to be read'
TOO_DEEP_SAID = 'recursion limit exceeded'


class LineLimiter(codecs.IncrementalDecoder):
    """Decodes UTF-8 line by line, because the package would re-join the pieces of a line with every read."""

    def __init__(self, errors: str = 'strict') -> None:
        super().__init__(errors)
        self._decoder = codecs.getincrementaldecoder('utf-8')(errors)
        self._start()

    def decode(self, data: Buffer, final: bool = False) -> str:
        """Return complete lines, and `CUT` for a line that is too long; the rest of that line is dropped."""
        first, *others = self._decoder.decode(data, final).split('\n')
        events = [self._add(first)]
        for piece in others:
            events += ['' if self._is_cut else f'{"".join(self._pieces)}\n']
            self._start()
            events += [self._add(piece)]
        return ''.join(events)

    def _start(self) -> None:
        self._pieces: list[str] = []
        self._length = 0

    @property
    def _is_cut(self) -> bool:
        return self._length > MAX_MESSAGE_BYTES

    def _add(self, piece: str) -> str:
        was_cut = self._is_cut
        self._length += len(piece)
        if not self._is_cut:
            self._pieces.append(piece)
            return ''
        self._pieces.clear()
        return '' if was_cut else f'{CUT}\n'


def line_problem(message: object) -> str:
    """Return why the package cannot parse a line, if calls would wait in vain for it; otherwise ''."""
    if not isinstance(message, ValidationError):
        return ''
    error = message.errors()[0]
    if error['input'] == CUT:
        return TOO_LONG
    return TOO_DEEP if TOO_DEEP_SAID in error['msg'] else ''


def _find(name: str) -> codecs.CodecInfo | None:
    if name != ENCODING:
        return None
    plain = codecs.lookup('utf-8')
    return codecs.CodecInfo(plain.encode, plain.decode, incrementaldecoder=LineLimiter, name=ENCODING)


codecs.register(_find)
