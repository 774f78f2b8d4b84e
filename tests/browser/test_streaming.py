"""Streamed Markdown: block by block it becomes what the whole text would be, wherever it was cut."""

import random

import pytest

WHOLE = """# Findings

The *first* paragraph has **bold**, `code` and a [link](https://example.org),
over two lines.

- one

- two, loose
  with a second line

    and a paragraph of its own
- three

1. first
2. second

```python
def settle(text):

    return text  # the fence has an empty line inside
```

> a quotation

| name | count |
| --- | --- |
| ann | 2 |

Setext
------

<b onclick="window.pwned=1">not HTML</b> & the end
"""

PIECES = """async (pieces) => {
  const { render, Stream } = await import('/hemicycle/markdown.js');
  const whole = document.createElement('div'), grown = document.createElement('div');
  render(whole, pieces.join(''));
  const stream = new Stream(grown);
  let redone = 0;
  for (const piece of pieces) {
    const before = new Set(grown.childNodes);
    stream.add(piece);
    redone = Math.max(redone, [...grown.children].filter((child) => !before.has(child)).length);
  }
  return [grown.innerHTML, whole.innerHTML, redone];
}"""


def cut(text: str, seed: int) -> list[str]:
    chance, pieces = random.Random(seed), []
    while text:
        size = chance.randint(1, 12)
        pieces, text = [*pieces, text[:size]], text[size:]
    return pieces


@pytest.mark.parametrize('ends', ['\n', '\r\n'])
@pytest.mark.parametrize('seed', range(4))
def test_pieces_become_the_whole_and_only_the_end_is_drawn_anew(page, server, seed, ends):
    page.goto(server.url)
    grown, whole, redone = page.evaluate(PIECES, cut(WHOLE.replace('\n', ends), seed))
    assert grown.replace('\n', '') == whole.replace('\n', '')
    assert redone <= 2
