"""Imports runs from bundles, and from traces of other frameworks."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO

from engine.errors import BundleError
from engine.history.bundle.documents import Imported
from engine.history.bundle.format import encode_line, run_line, step_line
from engine.history.bundle.importer import finish_work, import_bundle
from engine.history.bundle.store import BundleStore
from engine.history.bundle.writer import head_line
from engine.history.traces.converter import ConvertedRun, convert_trace
from engine.history.traces.otlp import SpanReader, is_trace_file
from engine.history.traces.tree import name_trace_in_errors, traces_of

MAX_TRACES = 1_000


async def import_runs(
    store: BundleStore, file: BinaryIO, *, progress: Callable[[int], None] = lambda read: None
) -> list[Imported]:
    """Import the runs of a bundle, or the traces of an OTLP/JSON file, each as a run that has ended.

    Traces are first converted to a bundle, so that they pass the same checks.

    Args:
        store: the destination.
        file: open at its beginning and seekable; its format is detected from its content.
        progress: called with the bytes read so far, from another thread.

    Raises:
        BundleError: the file is rejected; names the field. Nothing was imported.
        JournalError: the journal could not be written. Nothing was imported.
    """
    if not await asyncio.to_thread(is_trace_file, file):
        return await import_bundle(store, file, progress=progress)
    reader = SpanReader(file, progress)
    bundle = await asyncio.to_thread(tempfile.TemporaryFile)
    converting = asyncio.ensure_future(asyncio.to_thread(_convert, reader, bundle))
    try:
        await finish_work(converting, reader.stop.set)
        return await import_bundle(store, bundle)
    finally:
        await asyncio.to_thread(bundle.close)


def _convert(reader: SpanReader, bundle: IO[bytes]) -> None:
    """Write the traces of a file as a bundle. Blocks."""
    spans = reader.read()
    traces = traces_of(spans)
    if not traces:
        raise BundleError(0, _refusal(len(spans), list(reader.scopes)))
    if len(traces) > MAX_TRACES:
        raise BundleError(0, f'it holds {len(traces):,} traces, and at most {MAX_TRACES:,} can be imported')
    runs = []
    for trace in traces:
        with name_trace_in_errors(trace.id):
            runs.append(convert_trace(trace))
    digest, count = hashlib.sha256(), 0
    for line in _bundle_lines(runs):
        encoded = encode_line(line)
        digest.update(encoded)
        count += 1
        bundle.write(encoded)
    bundle.write(encode_line({'kind': 'end', 'lines': count, 'sha256': digest.hexdigest(), 'hidden': 0}))
    bundle.seek(0)


def _refusal(spans: int, scopes: list[str]) -> str:
    """Return why a file without a trace is refused: what it holds instead."""
    recorded = f'; its spans ({spans:,}) were recorded by {", ".join(scopes[:5])}' if scopes else ''
    return f'it holds no spans of generative AI: no agents, model calls or tool calls{recorded}'


def _bundle_lines(runs: list[ConvertedRun]) -> Iterator[dict[str, Any]]:
    yield head_line([run.info for run in runs], time.time())
    for run in runs:
        yield run_line(run.info, run.shape, ())
        for step in run.steps:
            yield step_line(step)
