"""The frame of every page, dark and light, and the small parts that pages are made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import app, ui

from engine import Status
from ui.presenters.words import WORDS
from ui.web import ASSETS, MARK

PLACES = (('/', 'Home'), ('/runs', 'Runs'), ('/tools', 'Tools'), ('/settings', 'Settings'))
"""The main navigation."""

SHEETS = (
    'hemicycle.css',
    'pages.css',
    'run.css',
    'player.css',
    'panes.css',
    'files.css',
    'loop.css',
    'board.css',
    'stepping.css',
    'made.css',
    'forks.css',
    'traffic.css',
    'beside.css',
)


def warn_everywhere(warning: str) -> None:
    """Say something on every page from now on, in the head of it; '' is nothing."""
    app.state.warning = warning


def serve_assets() -> None:
    """Serve the style sheet and the scripts, and put them into every page."""
    app.add_static_files('/hemicycle', str(ASSETS), max_cache_age=0)
    for sheet in SHEETS:
        stamp = int((ASSETS / sheet).stat().st_mtime)
        ui.add_head_html(f'<link rel="stylesheet" href="/hemicycle/{sheet}?{stamp}">', shared=True)
    ui.add_head_html('<meta name="color-scheme" content="light dark">', shared=True)


@contextmanager
def frame(title: str, *, here: str = '', wide: bool = False) -> Iterator[None]:
    """A page with its head and navigation: `here` is marked in it; `wide` uses the whole window."""
    ui.page_title(f'{title} · Hemicycle')
    dark = ui.dark_mode(value=app.storage.user.get('dark'))
    with ui.element('header').classes('topbar'):
        with ui.element('a').classes('brand').props('href="/" aria-label="Hemicycle, home"'):
            ui.html(MARK, sanitize=False)
            ui.label('Hemicycle')
        with ui.element('nav').props('aria-label="Main"'):
            for path, name in PLACES:
                link = ui.element('a').props(f'href="{path}"')
                if path == here:
                    link.props('aria-current="page"')
                with link:
                    ui.label(name)
        ui.element('div').classes('grow')
        _warning()
        _dark_button(dark)
    with ui.element('div').classes('window' if wide else 'page') as main:
        yield
    ui.skip_link(target=main)


def _warning() -> None:
    if warning := getattr(app.state, 'warning', ''):
        with ui.element('a').classes('warning').props('href="/settings#commands"'):
            ui.icon('gpp_maybe').props('size="18px"')
            ui.label(warning)


def _dark_button(dark: ui.dark_mode) -> None:
    def turn(value: bool) -> None:
        app.storage.user['dark'] = value
        dark.set_value(value)

    # Without a choice the page follows the system: the first click must turn round what is seen.
    seen = 'document.body.classList.contains("body--dark")'
    button = ui.element('button').classes('btn quiet icon').props('aria-label="Dark or light"')
    button.on('click', lambda event: turn(not event.args), js_handler=f'() => emit({seen})')
    with button:
        ui.icon('contrast')


def pill(status: Status) -> ui.element:
    """A run's status: a word, a mark and a colour."""
    with ui.element('span').classes(f'pill {status.value}') as element:
        ui.label(WORDS[status])
    return element


def button(text: str, *, icon: str = '', kind: str = '', label: str = '') -> ui.element:
    """A button; without a text it is only an icon, and `label` says what it does."""
    element = ui.element('button').classes(f'btn {kind}{"" if text else " icon"}').props('type="button"')
    if label:
        element.props(f'aria-label="{label}"')
        element.tooltip(label)
    with element:
        if icon:
            ui.icon(icon)
        if text:
            ui.label(text)
    return element


@contextmanager
def notice(kind: str, icon: str) -> Iterator[None]:
    """A message that stays: `fail`, `wait` or `info`."""
    role = 'alert' if kind == 'fail' else 'status'
    with ui.element('div').classes(f'notice {kind}').props(f'role="{role}"'):
        ui.icon(icon).props('size="20px"')
        with ui.element('div').classes('grow'):
            yield


def empty(icon: str, text: str) -> None:
    """What stands where nothing is yet."""
    with ui.element('div').classes('empty'):
        ui.icon(icon).props('size="30px"')
        ui.label(text)
