"""What the editor opens: a chart, one of its versions, a new chart, or a Python pattern as text."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from engine import Pattern
from engine.charts.export import export_chart
from engine.charts.library import ChartInfo, ChartVersion
from engine.errors import UnknownPattern
from ui.app.backend import Backend
from ui.web.pages.charts.editor.template import TEMPLATE, named
from ui.web.permission import refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A text to edit or to look at."""

    name: str
    title: str
    text: str
    base: str = ''
    """The version in the file, as read; '' for a new chart."""
    version: ChartVersion | None = None
    """None if it was never saved, or has errors."""
    readonly: str = ''
    """Why it cannot be changed here; '' if it can."""
    is_earlier: bool = False
    """Whether it is a version that is not current."""
    is_python: bool = False
    unsaid: Sequence[str] = ()
    """Of a Python pattern: what a chart file cannot say."""


async def open_chart(
    backend: Backend, name: str, *, version: str = '', new: bool = False, template: str = ''
) -> Opened:
    """Return what the editor of this name shows.

    If there is none, a `new` one begins with the text of another chart or pattern, or with an example.

    Raises:
        UnknownPattern: there is none, or no such template.
    """
    charts = {info.name: info for info in await backend().charts.list()}
    pattern = backend().catalog.patterns.get(name)
    if name in charts and (version or not charts[name].removed):
        return await _open_saved(backend, charts[name], version)
    if pattern is not None:
        return await asyncio.to_thread(_open_python, pattern)
    if not new:
        raise UnknownPattern(name)
    text = await _text_of(backend, charts, name, template)
    return Opened(name=name, title=name, text=text, readonly=refusal('charts.save'))


async def _open_saved(backend: Backend, info: ChartInfo, version: str) -> Opened:
    read = await backend().charts.get(info.name, version)
    current = info.version.version if info.version else ''
    earlier = bool(version) and version != current
    folder = f'This chart is in {info.folder}: change it there.' if info.folder else ''
    looking = 'This is an earlier version.' if earlier else ''
    return Opened(
        name=info.name,
        title=info.title or info.name,
        text=read.text,
        base=read.version,
        version=read.saved,
        readonly=looking or folder or refusal('charts.save'),
        is_earlier=earlier,
    )


def _open_python(pattern: type[Pattern]) -> Opened:
    exported = export_chart(pattern)
    return Opened(
        name=pattern.name,
        title=pattern.title,
        text=exported.text,
        readonly='This pattern is written in Python. This is what of it a chart can say.',
        is_python=True,
        unsaid=tuple(exported.missing),
    )


async def _text_of(backend: Backend, charts: Mapping[str, ChartInfo], name: str, template: str) -> str:
    """Return the text that a new chart begins with. Raises `UnknownPattern`."""
    if not template:
        return named(TEMPLATE, name)
    if template in charts:
        return named((await backend().charts.get(template)).text, name)
    pattern = backend().catalog.pattern(template)
    return (await asyncio.to_thread(partial(export_chart, pattern, name=name))).text
