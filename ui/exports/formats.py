"""The formats in which a run can be exported, including the regression test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

import yaml

from engine import Conductor
from engine.history import Redaction, RegressionTest
from engine.records import RunId
from ui.exports.markdown import write_transcript
from ui.exports.offline_page import render_page

FormatName = Literal['html', 'bundle', 'family', 'markdown', 'test']


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """A description of a format and its files."""

    title: str
    note: str
    end: str
    media: str
    icon: str


FORMATS: dict[FormatName, ExportFormat] = {
    'html': ExportFormat(
        title='Offline page',
        note='Diagram, slider and transcript in one file',
        end='html',
        media='text/html; charset=utf-8',
        icon='slideshow',
    ),
    'bundle': ExportFormat(
        title='Bundle',
        note='Everything, to import elsewhere',
        end='jsonl.gz',
        media='application/gzip',
        icon='inventory_2',
    ),
    'family': ExportFormat(
        title='Bundle with fork tree',
        note='Including ancestors and forks',
        end='jsonl.gz',
        media='application/gzip',
        icon='account_tree',
    ),
    'markdown': ExportFormat(
        title='Transcript',
        note='Markdown',
        end='md',
        media='text/markdown; charset=utf-8',
        icon='article',
    ),
    'test': ExportFormat(
        title='Regression test',
        note='Expects this outcome; run with hemicycle check',
        end='test.yaml',
        media='application/yaml',
        icon='rule',
    ),
}


async def stream_export(conductor: Conductor, run: RunId, form: FormatName) -> AsyncIterator[bytes]:
    """Export a run piece by piece. Raises `EngineError`, before the first piece if possible."""
    match form:
        case 'html':
            yield (await render_page(conductor, run)).encode()
        case 'markdown':
            async for text in write_transcript(conductor, run):
                yield text.encode('utf-8', 'replace')
        case 'test':
            yield (await make_test(conductor, run)).encode()
        case _:
            runs = await conductor.family(run) if form == 'family' else [run]
            async for piece in conductor.export_bundle(runs):
                yield piece


async def make_test(conductor: Conductor, run: RunId) -> str:
    """Return a test of a run: expectations of its behaviour, and recorded replies. Raises `UnknownRun`."""
    test = await conductor.save_test(run)
    return await asyncio.to_thread(to_yaml, test, Redaction.for_catalog(conductor.catalog))


def to_yaml(test: RegressionTest, redaction: Redaction) -> str:
    """Return the test as YAML; its expectations come first, to be edited by hand."""
    values = redaction.redact_value(test.model_dump(mode='json'))
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
