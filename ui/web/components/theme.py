"""The frame of every page, and small parts: buttons, status pills, notices."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import zstandard
from nicegui import app, ui
from starlette.requests import Request
from starlette.responses import Response

from engine import Status
from ui.app.colours import TONES
from ui.formatting.values import status_class, status_text
from ui.web.components.assets import ASSETS, MARK, STYLES
from ui.web.components.loading.bundles import Bundles
from ui.web.components.loading.first_paint import (
    FONTS,
    head_html,
    install_templates,
    own_styles,
    placeholder_html,
    preload_html,
    sheet_html,
    style_sheet,
)
from ui.web.components.widgets import Attribute, Box, Text, set_attributes, text_link
from ui.web.permission import require
from ui.web.routing import PLACES

NAVIGATION = ('/runs', '/inbox', '/charts', '/experiments', '/settings')
"""The main navigation; the mark before it leads home."""

SHEETS = (
    *('base', 'diagram', 'frame', 'pages/home', 'forms', 'pages/tools', 'pages/settings', 'pages/runs'),
    *('dialogs', 'pages/accounts', 'questions', 'run/story', 'run/result', 'pages/inbox'),
)
"""The style sheets of every page; later ones take precedence."""
RUN_SHEETS = (
    *('conversation', 'run/approval_bar', 'run/run', 'run/player', 'run/panes', 'timeline'),
    *('run/files', 'run/strip', 'run/report', 'run/panels'),
    *(f'panels/{path.stem}' for path in sorted((STYLES / 'panels').glob('*.css'))),
    *('run/stepping', 'run/artifacts', 'pages/forks', 'pages/traffic', 'pages/compare', 'pages/wall'),
    *('pages/simulator', 'pages/rehearsal', 'pages/difference', 'pages/editor', 'pages/style'),
    'pages/experiments',
)
"""Those of pages with recorded runs (`of_runs`), after the others; with one for each panel."""

SCRIPTS = tuple(
    f'frame/{name}.js' for name in ('shortcuts', 'palette', 'focus', 'notifications', 'connection')
)
IMMUTABLE = 'public, max-age=31536000, immutable'

Keys = Sequence[tuple[str, str]]
KEYS: Keys = (
    ('Ctrl K', 'Search and commands'),
    ('?', 'This list'),
    ('Tab', 'Next control; with Shift, the previous one'),
    ('Esc', 'Close a dialog or a menu'),
)
LIST_KEYS: Keys = (
    ('↑ ↓', 'Next and previous run; with Shift, select them'),
    ('← →', "The run's checkbox, link, star and menu"),
    ('Home End', 'First and last run'),
    ('Space', 'Select a run; with Shift, all up to it'),
    ('Esc', 'Clear the selection'),
    ('Ctrl Z', 'Undo a deletion'),
)
FORM_KEYS: Keys = (('Ctrl Enter', 'Run'),)

_DARK = (
    f'html, body:not(.body--light) {{ background: {TONES["bg"].dark}; color-scheme: dark }}'
    f' body:not(.body--light) #first-words {{ color: {TONES["text"].dark} }}'
)
FIRST_PAINT = {True: _DARK, False: '', None: f'@media (prefers-color-scheme: dark) {{ {_DARK} }}'}
"""Styles until the scripts run, by whether a person chose dark: a dark page must never start white."""


def set_warning(warning: str) -> None:
    """Show a warning in the header of every page from now on; '' removes it."""
    app.state.warning = warning


def fill_topbar(draw: Callable[[], None] | None) -> None:
    """Add content to the top bar of every page from now on; None removes it."""
    app.state.topbar = draw


def serve_assets() -> None:
    """Serve the style sheets and the scripts, and add those of every page to them."""
    sheet = style_sheet(SHEETS, versioned_url)
    bundles = Bundles(SCRIPTS)
    for path, script in bundles.served.items():
        _serve(path, script, 'text/javascript')
    _serve('/hemicycle.css', sheet, 'text/css')
    run_sheet = own_styles(RUN_SHEETS)
    _serve('/runs.css', run_sheet, 'text/css')
    app.state.run_head = sheet_html(f'/runs.css?{zlib.crc32(run_sheet.encode()):x}')
    app.state.run_head += preload_html(versioned_url(FONTS['mono']))
    app.add_static_files('/hemicycle', str(ASSETS), max_cache_age=0)
    install_templates(bundles)
    ui.add_head_html(head_html(f'/hemicycle.css?{zlib.crc32(sheet.encode()):x}', versioned_url), shared=True)


def _serve(path: str, text: str, kind: str) -> None:
    """Serve a text whose links contain a hash of it, so that a browser requests it only once.

    It is compressed once, as well as possible; for browsers that lack this form, each time.
    """
    compressed = functools.cache(lambda: zstandard.compress(text.encode(), 19))

    @app.get(path, include_in_schema=False)
    def serve(request: Request) -> Response:
        headers = {'Cache-Control': IMMUTABLE}
        if 'zstd' not in request.headers.get('accept-encoding', ''):
            return Response(text, media_type=kind, headers=headers)
        headers |= {'Content-Encoding': 'zstd', 'Vary': 'Accept-Encoding'}
        return Response(compressed(), media_type=kind, headers=headers)


def versioned_url(asset: str) -> str:
    """Return the address of an asset, which changes with every modification of the file."""
    return f'/hemicycle/{asset}?{int((ASSETS / asset).stat().st_mtime)}'


class ColorScheme(ui.dark_mode, component=ASSETS / 'frame' / 'color_scheme.js'):
    """Light, dark, or (None) the system's setting; applied only when it changes."""


@contextmanager
def frame(
    title: str = '', *, here: str = '', wide: bool = False, of_runs: bool = False, keys: Keys = ()
) -> Iterator[None]:
    """Draw a page with header and navigation.

    Args:
        title: the title of the page; by default that with which it is served.
        here: the address in the navigation that is highlighted.
        wide: whether it uses the whole window.
        of_runs: whether it shows what runs recorded, whose styles are then loaded.
        keys: the page's own keys and what they do, for the list that `?` shows.
    """
    title = title or PLACES[ui.context.client.page.path].title
    navigation = [(path, PLACES[path].title) for path in NAVIGATION if path in PLACES]
    ui.page_title(f'{title} · Hemicycle')
    if of_runs:
        ui.add_head_html(app.state.run_head)
    chosen = app.storage.user.get('dark')
    ui.add_head_html(f'<style>{FIRST_PAINT[chosen]}</style>')
    dark = ColorScheme(value=chosen)
    with ui.context.client.layout, Box('topbar', 'header') as header:
        with Box('brand', 'a', href='/', aria_label='Hemicycle, home'):
            ui.html(MARK, sanitize=False)
            ui.label('Hemicycle')
        with Box(tag='nav', aria_label='Main'):
            for path, name in navigation:
                link = Box(tag='a', href=path)
                if path == here:
                    link.props('aria-current="page"')
                with link:
                    ui.label(name)
        Box('grow')
        if draw := getattr(app.state, 'topbar', None):
            draw()
        _draw_warning()
        _draw_dark_button(dark)
    header.move(target_index=0)  # NiceGUI puts what a page draws into its `main`
    _draw_keys_dialog(keys)
    ui.add_body_html(placeholder_html(title, here, navigation))
    main = Box('window' if wide else 'page')
    skip_link('Skip to main content', main)  # before those of the page
    with main:
        yield


def page_head(
    title: str, summary: str = '', *, back: tuple[str, str] | None = None, **attributes: str
) -> ui.element:
    """Draw the heading of a page with a sentence on it, and return what holds them.

    `back` is the address and the name of the page that a link above the heading leads to.
    """
    with Box('hero') as head:
        if back:
            path, name = back
            text_link(path, f'← {name}', 'small back')
        Text('h1', title, dir='auto', **attributes)
        if summary:
            Text('p', summary, 'muted')
    return head


def section_head(title: str, id: str, *, tag: str = 'h2') -> ui.element:
    """Draw the heading of a section, and return what holds it, for controls at its other end."""
    with Box('section-head') as head:
        Text(tag, title, id=id)
        Box('grow')
    return head


def skip_link(text: str, target: ui.element) -> None:
    """Draw a link for keyboard users that skips to `target`, without changing the address."""
    ui.skip_link(text, target=target).on('click.prevent', js_handler='() => {}')


def _draw_keys_dialog(keys: Keys) -> None:
    """Draw the list of keys; `frame/shortcuts.js` opens it."""
    with Box('card keys-dialog', 'dialog', id='keys', aria_labelledby='keys-title'):
        Text('h2', 'Keyboard shortcuts', id='keys-title')
        with Box('keys', 'dl'):
            for key, meaning in (*keys, *KEYS):
                with Box(tag='dt'):
                    Text('kbd', key)
                Text('dd', meaning)
        with Box('dialog-actions', 'form', method='dialog'):
            button('Close', type='submit')


def _draw_warning() -> None:
    if warning := getattr(app.state, 'warning', ''):
        with Box('warning', 'a', href='/settings#commands'):
            ui.icon('gpp_maybe', size='18px')
            ui.label(warning)


def _draw_dark_button(dark: ColorScheme) -> None:
    def turn(value: bool) -> None:
        app.storage.user['dark'] = value
        dark.set_value(value)

    # By default the page follows the system: the first click must invert what is shown.
    seen = 'document.body.classList.contains("body--dark")'
    button = Box('btn quiet icon', 'button', aria_label='Dark or light')
    button.on('click', lambda event: turn(not event.args), js_handler=f'() => emit({seen})')
    with button:
        ui.icon('contrast')


def pill(status: Status, error: str = '') -> ui.element:
    """Draw a run's status: a word, an icon and a colour; `error` of a done run says how it falls short."""
    with Box(f'pill {status_class(status, error)}', 'span') as element:
        ui.label(status_text(status, error))
    return element


def button(
    text: str, *, icon: str = '', kind: str = '', label: str = '', requires: str = '', **attributes: Attribute
) -> Box:
    """Draw a button; without a text it is an icon, and `label` says what it does.

    It is disabled for people whose role lacks the permission it `requires` (see `ui.web.permission`).
    """
    element = Box(f'btn {kind}{"" if text else " icon"}', 'button', **{'type': 'button'} | attributes)
    if label:
        set_attributes(element, aria_label=label)
        element.tooltip(label)
    with element:
        if icon:
            ui.icon(icon)
        if text:
            ui.label(text)
    if requires:
        require(element, requires)
    return element


@contextmanager
def notice(kind: str, icon: str) -> Iterator[None]:
    """Draw a permanent message of a kind: `fail`, `wait`, `done` or `info`."""
    role = 'alert' if kind == 'fail' else 'status'
    with Box(f'notice {kind}', role=role):
        ui.icon(icon, size='20px')
        with Box('grow'):
            yield


def text_notice(kind: str, icon: str, text: str) -> None:
    """Draw a permanent message that is one text."""
    with notice(kind, icon):
        Text('p', text)


def empty_state(icon: str, text: str) -> None:
    """Draw a placeholder where there is nothing yet."""
    with Box('empty'):
        ui.icon(icon, size='30px')
        ui.label(text)


ORIGINS = {
    'simulated': ('theater_comedy', 'Simulated', 'Answered by the scripted model: no provider was called'),
    'stubbed': ('rule', 'Stubbed', "Answered by the run's stubs: no provider was called"),
    'live': ('sensors', 'Live', 'Answered by a provider'),
    'replayed': ('replay', 'Replayed', 'Answered from a recording: no provider was called'),
}


def origin_chip(origin: str) -> None:
    """Draw a chip: a word, an icon and a colour."""
    icon, word, hint = ORIGINS[origin]
    with Box(f'chip {origin}', 'span'):
        ui.icon(icon, size='15px')
        ui.label(word)
        ui.tooltip(hint)
