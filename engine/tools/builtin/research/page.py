"""Extracts the readable text of an HTML page: headings, lists, and link targets."""

from __future__ import annotations

import re
from html.parser import HTMLParser

SILENT = frozenset({'script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object', 'select'})
BLOCKS = frozenset({
    'address', 'article', 'aside', 'blockquote', 'br', 'dd', 'div', 'dl', 'dt', 'fieldset',
    'figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'li',
    'main', 'nav', 'ol', 'p', 'pre', 'section', 'table', 'tr', 'ul',
})  # fmt: skip
HEADINGS = {f'h{level}': '#' * level for level in range(1, 7)}


class PageReader(HTMLParser):
    """Collects a page's title and text; tolerates broken HTML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ''
        self._pieces: list[str] = []
        self._silent: list[str] = []
        self._in_title = False
        self._link = ''

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start a new line before a block and mark its kind."""
        if tag == 'title':
            self._in_title = True
        elif tag in SILENT:
            self._silent.append(tag)
        elif tag in BLOCKS:
            self._pieces.append('\n')
            if tag in HEADINGS:
                self._pieces.append(f'\n{HEADINGS[tag]} ')
            elif tag == 'li':
                self._pieces.append('- ')
        elif tag in ('td', 'th'):
            self._pieces.append(' | ')
        elif tag == 'a':
            self._link = dict(attrs).get('href') or ''

    def handle_endtag(self, tag: str) -> None:
        """Start a new line after a block; append a link's target."""
        if tag == 'title':
            self._in_title = False
        elif tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif tag in BLOCKS:
            self._pieces.append('\n')
        elif tag == 'a':
            if self._link.startswith(('http://', 'https://', '/')) and not self._silent:
                self._pieces.append(f' <{self._link}>')
            self._link = ''

    def handle_data(self, data: str) -> None:
        """Collect readable text."""
        if self._in_title:
            self.title += data
        elif not self._silent:
            self._pieces.append(re.sub(r'\s+', ' ', data))

    @property
    def text(self) -> str:
        """The page's text, with no consecutive empty lines."""
        lines = (line.strip() for line in ''.join(self._pieces).split('\n'))
        return re.sub(r'\n{3,}', '\n\n', '\n'.join(lines)).strip()


def extract_text(html: str) -> tuple[str, str]:
    """Return the title and text of a page."""
    reader = PageReader()
    reader.feed(html)
    reader.close()
    return ' '.join(reader.title.split()), reader.text
