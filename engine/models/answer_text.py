"""AnswerText: separates the reasoning and tool calls that a model writes into its answer's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from engine.models.protocol import ReasoningPiece, TextPiece, TextWasReasoning

Piece = TextPiece | ReasoningPiece | TextWasReasoning

REASONING = {
    **{f'<{name}>': f'</{name}>' for name in ('think', 'thinking', 'reasoning', 'thought', 'seed:think')},
    '[think]': '[/think]',
    '◁think▷': '◁/think▷',
}
"""The tags around reasoning that servers leave in the text, in lower case."""
CLOSINGS = frozenset(REASONING.values())
CALLS = {'<tool_call>': '</tool_call>', '[tool_calls]': '', '<|python_tag|>': '<|eom_id|>'}
"""What begins a tool call in the text, and what ends it; '' means the end of the answer."""
STOPS = ('<|end|>', '<|return|>', '<|call|>')
"""What ends a message of gpt-oss (https://cookbook.openai.com/articles/openai-harmony)."""
TOKENS = (*REASONING, *CLOSINGS, *CALLS, *filter(None, CALLS.values()), *STOPS, '</function>')
HEADER = r'<\|(?:start|channel)\|>'
HEADER_TEXT = r'[\w\s.=|<>:/-]'
TAG = re.compile(
    rf'(?P<header>{HEADER}{HEADER_TEXT}{{0,120}}?<\|message\|>)|(?P<function><function=[\w.:-]{{1,120}}>)|'
    + '|'.join(map(re.escape, TOKENS)),
    re.IGNORECASE,
)
PARTIAL = re.compile(rf'(?:{HEADER}{HEADER_TEXT}{{0,130}}|<function=[\w.:-]{{0,120}})\Z', re.IGNORECASE)
"""The beginning of a tag whose length varies, at the end of a text."""
MAX_PARTIAL = 150
PREFIXES = frozenset(
    token[:end]
    for token in (*TOKENS, '<|start|>', '<|channel|>', '<function=')
    for end in range(1, len(token) + 1)
    if token[:end] not in TOKENS
)
BODY = re.compile(r'\s*(?:[{[<]|[\w.:-]+\s*<arg_key>)')
"""How a call begins inside `<tool_call>`, if its end is missing."""
NEVER = re.compile(r'(?!)')
FIRST = re.compile('[<[◁]')
"""What every tag begins with."""
MESSAGE_END = re.compile(rf'{"|".join(map(re.escape, STOPS))}|(?={HEADER})', re.IGNORECASE)
RECIPIENT = re.compile(r'\bto=(?:functions\.)?([\w.:-]+)')
QUOTES = frozenset('`\'"\u201c\u201d\u2018\u2019«»\\')
UNESCAPED = re.compile(r'\\.|(")', re.DOTALL)
FENCES = ('```', '~~~')


class WrittenCall(NamedTuple):
    """A tool call as text."""

    opening: str
    """The tag that began it, in lower case, or `<function=NAME>`."""
    body: str
    raw: str
    """All of it."""


class AnswerText:
    """Separates the text of one answer, however it is split into pieces.

    Reasoning is what stands between its tags at the start of the answer, or from the start of a line if it is
    closed. A closing tag alone makes everything before it reasoning. Tags in code or in quotes are text.
    """

    def __init__(self) -> None:
        self.calls: list[WrittenCall] = []
        """The calls found outside reasoning; complete once the answer has been closed."""
        self._mode: Literal['text', 'reasoning', 'thought', 'call'] = 'text'
        """`thought` is reasoning after the start: it is text if it is never closed."""
        self._held = ''
        """The end of what has arrived, if it may be the beginning of a tag."""
        self._fresh, self._space = True, list[str]()
        """Whether no text has come since the start or the last reasoning; the whitespace that has."""
        self._trims = self._spoke = self._harmony = False
        """Whether that whitespace is dropped; whether there is text; whether there are headers of gpt-oss."""
        self._last = ''
        """The last character."""
        self._opening, self._end = '', NEVER
        self._block = _Block()
        self._lines = _Lines()

    def is_plain(self, text: str) -> bool:
        """Whether the next piece is just text, as nearly all are; otherwise it has to be fed."""
        if self._held or self._fresh or self._mode != 'text' or FIRST.search(text):
            return False
        self._last = text[-1:] or self._last
        self._lines.add(text)
        return True

    def feed(self, text: str) -> Iterator[Piece]:
        """Yield the next pieces."""
        yield from self._read(self._held + text, final=False)

    def flush(self) -> Iterator[Piece]:
        """Yield what is held back, before something that is not text: no tag continues after that."""
        yield from self._read(self._held, final=True)

    def close(self) -> Iterator[Piece]:
        """Yield the rest at the end of the answer."""
        yield from self.flush()
        body = self._block.text
        if self._mode == 'call' and (self._opening != '<tool_call>' or BODY.match(body)):
            yield from self._end_block('')
        elif self._mode in ('call', 'thought'):  # A mention, which nothing closes.
            self._mode = 'text'
            yield from self._say(self._opening + body)
        elif self._space and not self._trims:
            yield TextPiece(text=''.join(self._space))

    def _read(self, text: str, *, final: bool) -> Iterator[Piece]:
        self._held, at = '', 0
        while at < len(text):
            match = (TAG if self._mode == 'text' else self._end).search(text, at)
            plain_end = match.start() if match else len(text) - (0 if final else _partial(text, at))
            yield from self._add(text[at:plain_end])
            if match is None:
                self._held = text[plain_end:]
                return
            follows = text[match.end() : match.end() + 1]
            if self._last in QUOTES and not follows and not final:
                self._held = match[0]
                return
            at = match.end()
            if self._last in QUOTES and follows in QUOTES and follows:
                yield from self._add(match[0])
            elif self._mode == 'text':
                yield from self._read_tag(match)
            else:
                yield from self._end_block(match[0])

    def _add(self, text: str) -> Iterator[Piece]:
        """Add what is not a tag."""
        if not text:
            return
        if self._mode == 'text':
            yield from self._say(text)
        elif self._mode == 'reasoning':
            yield ReasoningPiece(text=text)
        else:
            self._block.add(text)
        self._last = text[-1]

    def _say(self, text: str) -> Iterator[Piece]:
        if self._fresh:
            self._space.append(text)
            if text.isspace():
                return
            # Whitespace between reasoning and the answer belongs to neither.
            text = text.lstrip() if self._trims else ''.join(self._space)
            self._fresh = False
            self._space.clear()
        self._spoke, self._last = True, text[-1]
        self._lines.add(text)
        yield TextPiece(text=text)

    def _read_tag(self, match: re.Match[str]) -> Iterator[Piece]:
        tag = match[0].lower()
        lines = self._lines
        if not self._fresh and lines.quoted:
            yield from self._say(match[0])
        elif match['header']:
            yield from self._read_header(match[0])
        elif match['function']:
            self._begin('call', match[0], '</function>')
        elif tag in CALLS:
            self._begin('call', tag, CALLS[tag])
        elif tag in REASONING and (self._fresh or lines.at_start):
            self._begin('reasoning' if self._fresh else 'thought', match[0], REASONING[tag])
        elif tag in REASONING:
            lines.mentioned.append(REASONING[tag])
            yield from self._say(match[0])
        elif tag in lines.mentioned:
            lines.mentioned.remove(tag)
            yield from self._say(match[0])
        elif tag in CLOSINGS:
            yield from self._take_back()
        elif not self._harmony:
            yield from self._say(match[0])

    def _read_header(self, header: str) -> Iterator[Piece]:
        """Begin a message of gpt-oss: a call, reasoning, or text."""
        if recipient := RECIPIENT.search(header):
            self._begin('call', f'<function={recipient[1]}>', MESSAGE_END)
        elif 'analysis' in header:
            self._begin('reasoning', header, MESSAGE_END)
        elif 'final' in header and not self._harmony and self._spoke:
            yield from self._take_back()  # The server has left out the header of the reasoning.
        elif self._spoke:
            yield from self._say('\n\n')
        self._harmony, self._trims, self._last = True, True, '>'

    def _begin(
        self, mode: Literal['reasoning', 'thought', 'call'], opening: str, end: str | re.Pattern[str]
    ) -> None:
        self._mode, self._opening, self._block, self._last = mode, opening, _Block(), '>'
        if mode == 'reasoning':
            self._trims = True
            self._space.clear()
        if isinstance(end, str):
            end = re.compile(re.escape(end), re.IGNORECASE) if end else NEVER
        self._end = end

    def _end_block(self, closing: str) -> Iterator[Piece]:
        """End the reasoning or the call; a closing tag in a string of a call's JSON does not."""
        if self._mode == 'call':
            if closing and self._block.in_string:
                self._block.add(closing)
                return
            body = self._block.text
            self.calls.append(WrittenCall(self._opening, body, self._opening + body + closing))
        elif self._mode == 'thought':
            yield ReasoningPiece(text=self._block.text)
        self._fresh = self._fresh or self._mode == 'reasoning'
        self._mode, self._last, self._lines = 'text', closing[-1:], _Lines()

    def _take_back(self) -> Iterator[Piece]:
        """Make all text so far reasoning, with the calls in it."""
        if self._spoke:
            yield TextWasReasoning()
        for call in self.calls:
            yield ReasoningPiece(text=call.raw)
        self.calls.clear()
        self._space.clear()
        self._fresh, self._trims, self._spoke = True, True, False
        self._last, self._lines = '>', _Lines()


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the reasoning in an answer, and the rest; calls stay text."""
    answer, reasoning, words = AnswerText(), list[str](), list[str]()
    for piece in (*answer.feed(text), *answer.close()):
        match piece:
            case TextWasReasoning():
                reasoning += words
                words.clear()
            case ReasoningPiece(text=part):
                reasoning.append(part)
            case TextPiece(text=part):
                words.append(part)
    words += [call.raw for call in answer.calls]
    return ''.join(reasoning), ''.join(words)


class _Lines:
    """The text so far: whether its end is inside code or quotes. Each character is looked at once."""

    def __init__(self) -> None:
        self.mentioned: list[str] = []
        """The closing tags of the opening tags that the current line mentions."""
        self._unread: list[str] = []
        self._head, self._fence = '', ''
        self._quotes = self._ticks = 0

    def add(self, text: str) -> None:
        """Add the next piece."""
        self._unread.append(text)

    @property
    def at_start(self) -> bool:
        """Whether the current line is blank."""
        self._read()
        return not self._head

    @property
    def quoted(self) -> bool:
        """Whether the end is inside a code block, or code or quotes that began in the current line."""
        self._read()
        return bool(self._fence or self._head in FENCES or self._quotes % 2 or self._ticks % 2)

    def _read(self) -> None:
        first, *others = ''.join(self._unread).split('\n')
        self._unread.clear()
        self._extend(first)
        for line in others:
            if self._head in FENCES and self._fence in ('', self._head):
                self._fence = '' if self._fence else self._head
            self._head, self._quotes, self._ticks = '', 0, 0
            self.mentioned.clear()
            self._extend(line)

    def _extend(self, text: str) -> None:
        if len(self._head) < len(FENCES[0]):
            self._head = (self._head + text).lstrip()[: len(FENCES[0])]
        self._quotes += text.count('"') - text.count('\\"')
        self._ticks += text.count('`')


class _Block:
    """What stands between two tags."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._read = 0
        self._quotes = 0

    def add(self, text: str) -> None:
        """Add the next piece."""
        self._pieces.append(text)

    @property
    def text(self) -> str:
        """All of it."""
        return ''.join(self._pieces)

    @property
    def in_string(self) -> bool:
        """Whether it is JSON, and its end is inside a string."""
        unread = ''.join(self._pieces[self._read :])
        self._pieces[self._read :] = [unread]
        self._read = len(self._pieces)
        self._quotes += UNESCAPED.findall(unread).count('"')
        return self._quotes % 2 == 1 and next(filter(str.strip, self._pieces), '').lstrip()[:1] in ('{', '[')


def _partial(text: str, at: int) -> int:
    """Return how many characters at the end of the text may be the beginning of a tag."""
    first = max(text.rfind(char, max(at, len(text) - MAX_PARTIAL)) for char in '<[◁')
    if first < 0:
        return 0
    if match := PARTIAL.search(text, max(at, len(text) - MAX_PARTIAL)):
        return len(text) - match.start()
    return len(text) - first if text[first:].lower() in PREFIXES else 0
