"""A result as Markdown, to be saved or quoted."""

from __future__ import annotations

from ui.formatting.results.blocks import Bars, Block, Facts, Patch, Points, Prose, Remarks, Result, Rows


def to_markdown(result: Result) -> str:
    """Return the headline and all blocks; a patch only by its title, since it is read elsewhere."""
    parts = [f'**{result.headline}**' if result.headline else '']
    parts += [_block(block) for block in (*result.main, *result.aside)]
    return '\n\n'.join(filter(None, parts))


def _block(block: Block) -> str:
    match block:
        case Prose(text=text):
            return text
        case Bars(title=title, bars=bars):
            lines = [f'{bar.label}: {bar.words}{f" ({bar.note})" if bar.note else ""}' for bar in bars]
        case Rows(title=title, rows=rows):
            lines = [
                ' · '.join(filter(None, (row.mark, f'**{row.name}**', *row.facts, row.note))) for row in rows
            ]
        case Points(title=title, points=points):
            lines = list(points)
        case Facts(facts=facts):
            return '\n'.join(f'- {fact.name}: {fact.words}' for fact in facts)
        case Remarks(remarks=remarks):
            return '\n'.join(
                f'- **{remark.severity}** `{remark.file}:{remark.line}`: '
                + f'{remark.text} {remark.suggestion}'.rstrip()
                for remark in remarks
            )
        case Patch():
            return ''
    return '\n'.join([f'## {title}', '', *(f'- {line}' for line in lines)])
