"""Lines of an MCP server: the package buffers endless ones, and cannot read half of a character."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from pydantic import ValidationError

from engine.tools.mcp.config import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from typing_extensions import Buffer

ENCODING = 'utf_8_of_limited_lines'
"""UTF-8, with `CUT` in place of a line that is too long."""
EVENTS = 'utf_8_of_events'
"""UTF-8 of an event stream."""
CUT = 'this line is too long'
TOO_LONG = f'it wrote a line of more than {MAX_MESSAGE_BYTES:,} characters'
TOO_DEEP = 'it wrote a message that is nested too deep to be read'
TOO_DEEP_SAID = 'recursion limit exceeded'
ESCAPE = re.compile(r'\\(?:u[dD](?:[89abAB]..\\u[dD][c-fC-F]..|[89a-fA-F]..)|.)')
"""A JSON escape: a pair of surrogates, a lone one, or any other, of which the first two characters count."""


def replace_lone_surrogates(text: str) -> str:
    """Replace escaped halves of characters in JSON, which servers write that cut a text in an emoji."""
    if '\\ud' not in text and '\\uD' not in text:
        return text
    return ESCAPE.sub(lambda escape: r'\ufffd' if len(escape[0]) == 6 else escape[0], text)


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
            events += ['' if self._is_cut else f'{self._line()}\n']
            self._start()
            events += [self._add(piece)]
        if final:
            events.append(self._line())
        return ''.join(events)

    def _start(self) -> None:
        self._pieces: list[str] = []
        self._length = 0

    def _line(self) -> str:
        return replace_lone_surrogates(''.join(self._pieces))

    @property
    def _is_cut(self) -> bool:
        return self._length > MAX_MESSAGE_BYTES

    def _add(self, piece: str) -> str:
        was_cut = self._is_cut
        self._length += len(piece)
        if not self._is_cut:
            self._pieces.append(piece)
            return ''
        text = self._replace(piece, was_cut=was_cut)
        self._pieces.clear()
        return text

    def _replace(self, piece: str, *, was_cut: bool) -> str:
        """Return what a piece of a line that is too long is replaced by."""
        return '' if was_cut else f'{CUT}\n'


class EventDecoder(LineLimiter):
    """The same for an event stream, whose length the package limits: it gets a line that is too long."""

    def _replace(self, piece: str, *, was_cut: bool) -> str:
        return piece if was_cut else ''.join([*self._pieces, piece])


def line_problem(message: object) -> str:
    """Return why the package cannot parse a line, if calls would wait in vain for it; otherwise ''."""
    if not isinstance(message, ValidationError):
        return ''
    error = message.errors()[0]
    if error['input'] == CUT:
        return TOO_LONG
    return TOO_DEEP if TOO_DEEP_SAID in error['msg'] else ''


def _find(name: str) -> codecs.CodecInfo | None:
    decoder = {ENCODING: LineLimiter, EVENTS: EventDecoder}.get(name)
    if decoder is None:
        return None
    plain = codecs.lookup('utf-8')
    return codecs.CodecInfo(plain.encode, plain.decode, incrementaldecoder=decoder, name=name)


codecs.register(_find)
