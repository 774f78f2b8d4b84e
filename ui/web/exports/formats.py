"""The formats in which a run can be exported, including the test of it; and names of the files."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from engine import Conductor
from engine.history import Redaction
from engine.operations.experiments import Experiment, ExperimentFile, to_values
from engine.records import RunId, RunInfo
from ui.web.exports.markdown import write_transcript
from ui.web.exports.offline_page import render_page

QuickDumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
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
        note='Choose what it expects; run with hemicycle test check',
        end='test.yaml',
        media='application/yaml',
        icon='rule',
    ),
}


def file_name(info: RunInfo, form: FormatName) -> str:
    """Return a file name from the run's title: letters and digits, not too long."""
    family = '-family' if form == 'family' else ''
    return f'{_words(info.title) or info.pattern}-{info.id[:6]}{family}.{FORMATS[form].end}'


def experiment_file_name(experiment: Experiment) -> str:
    """Return a file name for the bundle of an experiment."""
    return f'{_words(experiment.name) or "experiment"}-{experiment.id[:6]}.{FORMATS["bundle"].end}'


def _words(title: str) -> str:
    return '-'.join(re.findall(r'\w+', title.lower()))[:50].strip('-_')


async def stream_export(conductor: Conductor, run: RunId, form: FormatName) -> AsyncIterator[bytes]:
    """Export a run piece by piece. Raises `EngineError`, before the first piece if possible."""
    match form:
        case 'html':
            yield (await render_page(conductor, run)).encode()
        case 'markdown':
            async for text in write_transcript(conductor, run):
                yield text.encode('utf-8', 'replace')
        case 'test':
            test, redaction = await conductor.save_test(run), Redaction.for_catalog(conductor.catalog)
            yield (await asyncio.to_thread(to_yaml, test, redaction)).encode()
        case _:
            runs = await conductor.family(run) if form == 'family' else [run]
            async for piece in conductor.export_bundle(runs):
                yield piece


def to_yaml(test: ExperimentFile, redaction: Redaction) -> str:
    """Return the test as YAML; its expectations come first, to be edited by hand."""
    values = redaction.redact_value(to_values(test))
    text: str = yaml.dump(values, Dumper=QuickDumper, sort_keys=False, allow_unicode=True)
    return text
