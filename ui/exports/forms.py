"""The forms that a run can be saved in, and each as the pieces of a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from engine import Conductor, RunId, export_bundle, family
from ui.exports.asserted import test_of
from ui.exports.markdown import transcript_of
from ui.exports.page import page_of

Form = Literal['html', 'bundle', 'family', 'markdown', 'test']


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What is said of a form, and what its files are."""

    title: str
    note: str
    end: str
    media: str
    icon: str


FORMS: dict[Form, Saved] = {
    'html': Saved(
        title='A page that plays offline',
        note='Diagram, slider and transcript in one file',
        end='html',
        media='text/html; charset=utf-8',
        icon='slideshow',
    ),
    'bundle': Saved(
        title='A bundle',
        note='All of it, to import elsewhere',
        end='jsonl.gz',
        media='application/gzip',
        icon='inventory_2',
    ),
    'family': Saved(
        title='A bundle with its forks',
        note='And all that it was forked from',
        end='jsonl.gz',
        media='application/gzip',
        icon='account_tree',
    ),
    'markdown': Saved(
        title='A transcript',
        note='Markdown, to read and to quote',
        end='md',
        media='text/markdown; charset=utf-8',
        icon='article',
    ),
    'test': Saved(
        title='A test',
        note='What it was like is expected: for hemicycle check',
        end='test.yaml',
        media='application/yaml',
        icon='rule',
    ),
}


async def pieces(conductor: Conductor, run: RunId, form: Form) -> AsyncIterator[bytes]:
    """A run in a form, piece by piece. Raises `EngineError`, before the first piece where it can."""
    match form:
        case 'html':
            yield (await page_of(conductor, run)).encode()
        case 'markdown':
            async for text in transcript_of(conductor, run):
                yield text.encode('utf-8', 'replace')
        case 'test':
            yield (await test_of(conductor, run)).encode()
        case _:
            runs = await family(conductor, run) if form == 'family' else [run]
            async for piece in export_bundle(conductor, runs):
                yield piece
