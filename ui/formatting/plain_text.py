"""Plain text: outside text made safe for a terminal and a log, and Markdown without its signs."""

from __future__ import annotations

import re

from engine.records import clip

HARMFUL = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
"""Control characters except tab and line feed, bidirectional controls, lone surrogates."""


SOFT_BREAK = re.compile(r'(?<=[^\s.:;,!?…])\s*\n\s*(?=[^\s•])')
"""A line break without punctuation before it."""


def strip_control(text: str) -> str:
    """Return the text without anything that a terminal would interpret."""
    return HARMFUL.sub('', text.replace('\r\n', '\n'))


def one_line(text: str, length: int = 80) -> str:
    """Return the text on one line, cut at `length`."""
    return clip(' '.join(strip_control(text).split()), length)


RULES = (
    (re.compile(r'^[ \t]*(```|~~~).*\n?', re.MULTILINE), ''),  # code fences
    (re.compile(r'^[ \t]*\|?[ \t:|-]*-{3,}[ \t:|-]*\n?', re.MULTILINE), ''),  # rules, and those in tables
    (
        re.compile(r'^[ \t]*\|(.*)\|[ \t]*$', re.MULTILINE),
        lambda row: ' · '.join(filter(None, cells(row[1]))),
    ),
    (re.compile(r'^[ \t]*#{1,6}[ \t]+', re.MULTILINE), ''),
    (re.compile(r'^([ \t]*)[-*+][ \t]+', re.MULTILINE), r'\1• '),
    (re.compile(r'^[ \t]*>[ \t]?', re.MULTILINE), ''),
    (re.compile(r'!?\[([^\]\n]*)\]\([^)\n]*\)'), r'\1'),
    (re.compile(r'\*\*(?=\S)(.+?)(?<=\S)\*\*'), r'\1'),
    (re.compile(r'(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?!\w)'), r'\1'),
    (re.compile(r'`([^`\n]+)`'), r'\1'),
)


def cells(row: str) -> list[str]:
    """Return the cells of a table row."""
    return [cell.strip() for cell in row.split('|')]


def plain_markdown_line(text: str) -> str:
    """Return the words of a Markdown text on one line."""
    return ' '.join(SOFT_BREAK.sub(' · ', plain_markdown(text)).split())


def plain_markdown(text: str) -> str:
    """Return the words of a Markdown text, line by line."""
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text
