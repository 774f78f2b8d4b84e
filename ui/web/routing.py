"""Page paths: registering pages and linking to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from nicegui import ui


def with_query(path: str, **query: Any) -> str:
    """Return a path with a query; values that are '' or None are left out."""
    values = {name: value for name, value in query.items() if value not in ('', None)}
    return f'{path}?{urlencode(values)}' if values else path


def compare_path(a: str, b: str, at: int | None = None) -> str:
    """Return the path of the page that compares two runs, at a row counted from 1."""
    return f'/compare?a={a}&b={b}{"" if at is None else f"&at={at}"}'


AUTHOR = 'author'
"""The pattern whose agent writes charts."""
DESCRIBE = 'Describe a workflow'
CHANGE = 'Change the workflow'
"""What leads to its form."""


def launch_path(pattern: str, task: str = '', *, version: str = '', **fields: str) -> str:
    """Return the path of a pattern's launch form, with a task and other fields filled in.

    A `version` is for an earlier one of the pattern.
    """
    return with_query(f'/launch/{quote(pattern, safe="")}', task=task, version=version, **fields)


def tool_path(tool: str) -> str:
    """Return the path of a tool's page."""
    return f'/tools/{quote(tool, safe="")}'


def traffic_path(pattern: str) -> str:
    """Return the path of a pattern's traffic page."""
    return f'/patterns/{quote(pattern, safe="")}/traffic'


def simulator_path(pattern: str, version: str = '') -> str:
    """Return the path of a pattern's simulator page, or of an earlier version's."""
    return with_query(f'/patterns/{quote(pattern, safe="")}/simulate', version=version)


def chart_path(chart: str, version: str = '', **query: str) -> str:
    """Return the path of the editor of a chart, or of one of its versions to look at."""
    return with_query(f'/charts/{quote(chart, safe="")}', version=version, **query)


def difference_path(chart: str, old: str = '', new: str = '') -> str:
    """Return the path of the page that compares two versions of a chart; by default, the newest two."""
    return with_query(f'/charts/{quote(chart, safe="")}/difference', **{'from': old, 'to': new})


def experiment_path(*runs: str) -> str:
    """Return the path of the form of an experiment whose variants are these runs, the first as the base."""
    return with_query('/experiments/new', runs=','.join(runs))


def show_address(path: str, *, add_history: bool = False) -> None:
    """Show a path as the page's address, instead of the current one or as a new entry of the history."""
    method = 'pushState' if add_history else 'replaceState'
    ui.run_javascript(f'history.{method}(null, "", path_prefix + {json.dumps(path)})')


RETITLE = r'document.title = (document.title.match(/^\(\d+\) /)?.[0] ?? "") + %s'


def show_title(title: str) -> None:
    """Show another title in the browser's tab, after its count of questions."""
    ui.run_javascript(RETITLE % json.dumps(f'{title} · Hemicycle'))


RESPONSE_SECONDS = 60.0
"""Seconds; with NiceGUI's default of 3, pages become errors on a busy machine."""


@dataclass(frozen=True, slots=True)
class Place:
    """A page, or a part of one, with a fixed address: where the palette leads."""

    path: str
    title: str
    is_offered: Callable[[], bool]


PLACES: dict[str, Place] = {}
"""By path, as the pages are registered."""


def add_place(path: str, title: str, offered: Callable[[], bool] = lambda: True) -> None:
    """Have the palette lead to `path`; `offered` says whether the server and the caller have it."""
    PLACES[path] = Place(path, title, offered)


def serve_page(path: str, title: str = '', *, offered: Callable[[], bool] = lambda: True) -> ui.page:
    """Decorate the function that draws the page at `path`; with a title, it is a place (`add_place`)."""
    if title:
        add_place(path, title, offered)
    return ui.page(path, response_timeout=RESPONSE_SECONDS)
