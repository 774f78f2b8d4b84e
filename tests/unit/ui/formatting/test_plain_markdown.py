"""Markdown as plain text."""

from ui.formatting.plain_text import plain_markdown, plain_markdown_line

TEXT = """# Findings

- **Bold** and *slanted* and `code`
* a [link](https://a.example/x) and ![a picture](x.png)

> said

| Name | Score |
|------|------:|
| A    | 3     |

```python
x = 2 * 3 * 4
```
2 * 3, snake_case_name and __init__ stay."""


def test_markup_is_removed_and_text_kept():
    assert (
        plain_markdown(TEXT)
        == """Findings

• Bold and slanted and code
• a link and a picture

said

Name · Score
A · 3

x = 2 * 3 * 4
2 * 3, snake_case_name and __init__ stay."""
    )


def test_on_one_line_rows_are_separated_and_empty_cells_dropped():
    markdown = 'Scores\n\n| | Score |\n| --- | --- |\n| 1 | 82 |\n\n- **Done.**\nAll pass'
    assert plain_markdown_line(markdown) == 'Scores · Score · 1 · 82 • Done. All pass'
