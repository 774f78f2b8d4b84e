"""Lines of text from a file in any encoding, never more than one in memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import BinaryIO

from engine.host.text_encoding import find_encoding, require_text

MAX_LINE = 1_000_000
"""Maximum number of characters in a line."""
SAMPLE = 65_536
MAX_CHECKED = 256 << 20
"""Maximum number of bytes that are searched for what is not UTF-8."""
DAMAGE = '\ufffd'
"""Stands for bytes that the encoding does not have."""


class Lines:
    """The lines of a file, with their ends, from the file's beginning.

    Raises:
        ValueError: it is not text.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.encoding = _encoding_of(file)
        file.seek(0)
        self._text = io.TextIOWrapper(file, self.encoding, errors='replace', newline='')
        self.number = 0
        """Of the line read last, from 1."""
        self.too_long: list[int] = []
        """Lines that were longer than `MAX_LINE`, and were skipped."""

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(MAX_LINE + 1):
            self.number += 1
            if len(line) <= MAX_LINE:
                yield line
                continue
            self.too_long.append(self.number)
            while line and line[-1] not in '\r\n':
                line = self._text.readline(MAX_LINE)

    def restart(self) -> None:
        """Go back to the first line."""
        self._text.seek(0)
        self.number, self.too_long = 0, []

    def close(self) -> None:
        """Leave the file open to others."""
        self._text.detach()


def _encoding_of(file: BinaryIO) -> str:
    file.seek(0)
    beginning = file.read(SAMPLE)
    encoding, checked = find_encoding(beginning), 0
    if encoding != 'utf-8' and not encoding.endswith(('-sig', '16', '32')):  # It was guessed.
        require_text(beginning.decode(encoding, 'replace'))
    file.seek(0)
    decoder = codecs.getincrementaldecoder('utf-8')()
    while encoding == 'utf-8' and checked < MAX_CHECKED and (read := file.read(SAMPLE)):
        checked += len(read)
        try:
            decoder.decode(read)
        except UnicodeDecodeError:
            return find_encoding(read)
    return encoding
