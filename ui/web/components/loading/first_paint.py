"""The first paint of a page: its words before its scripts, and its style sheets."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from html import escape
from string import Template
from typing import Any

import jinja2
from nicegui.client import templates
from typing_extensions import override

from ui.app.colours import TONES, colour_sheet
from ui.web.components.assets import MARK, STYLES
from ui.web.components.loading import quasar
from ui.web.components.loading.bundles import STATIC, Bundles

IMPORTS = re.compile(r'^\s*@import url\("\{\{ prefix \| safe \}\}.*\n', re.MULTILINE)
"""NiceGUI's style sheets that block the first paint."""
LAYERS = '@layer theme, base, quasar, nicegui, components, utilities, overrides, quasar_importants;'
PARTS = (
    ('quasar', 'quasar.unimportant.prod.css'),
    ('quasar_importants', 'quasar.important.prod.css'),
    ('nicegui', 'nicegui.css'),
)
LINKS = re.compile(r'(?<= )(?:href|src|action)="(?=/(?!/))')
COMMENTS = re.compile(r'/\*.*?\*/', re.DOTALL)
FONTS = {
    'icons': 'vendor/icons.woff2',
    'inter': 'fonts/inter.woff2',
    'inter_extended': 'fonts/inter-extended.woff2',
    'mono': 'fonts/jetbrains-mono.woff2',
}
"""The fonts of `FONT_FACES`. Of the icons only those that pages use, see `tests/browser/icons.py`."""
PRELOADED = ('icons', 'inter')
FONT_FACES = Template("""
@font-face { font-family: "Material Icons"; font-display: block; src: url($icons) format("woff2") }
@layer base { .material-icons { font: normal 24px/1 "Material Icons"; display: inline-block;
  text-transform: none; white-space: nowrap; direction: ltr; font-feature-settings: "liga" } }
@font-face { font-family: Inter; font-weight: 400 600; font-display: optional;
  src: url($inter) format("woff2");
  unicode-range: U+0-FF, U+131, U+152-153, U+2BB-2BC, U+2C6, U+2DA, U+2DC, U+304, U+308, U+329, U+2000-206F,
    U+20AC, U+2122, U+2191, U+2193, U+2212, U+2215, U+FEFF, U+FFFD }
@font-face { font-family: Inter; font-weight: 400 600; font-display: swap;
  src: url($inter_extended) format("woff2");
  unicode-range: U+100-130, U+132-151, U+154-2BA, U+2BD-2C5, U+2C7-2CC, U+2CE-2D7, U+2DD-2FF, U+1D00-1DBF,
    U+1E00-1E9F, U+1EF2-1EFF, U+20A0-20AB, U+20AD-20C0, U+2113, U+2C60-2C7F, U+A720-A7FF }
@font-face { font-family: "JetBrains Mono"; font-weight: 400 600; font-display: optional;
  src: url($mono) format("woff2"); unicode-range: U+0-FF, U+2000-206F }
""")
"""Other scripts and signs come from the system's fonts. `optional`: text that is drawn keeps its width."""
CRITICAL = """
body { margin: 0 }
#app, .nicegui-error-popup[aria-hidden="true"] { display: none }
#first-words { position: absolute; inset: 0 0 auto; font: 14px/1.5 system-ui }
#first-words header { display: flex; align-items: center; gap: 20px; height: 52px; padding: 0 20px }
#first-words a { color: inherit; text-decoration: none; margin-inline-end: 20px }
#first-words svg { width: 26px; height: 26px; vertical-align: middle }
#first-words * { box-sizing: border-box }
#first-words main { max-width: 1240px; margin: 28px auto; padding: 0 24px }
#first-words h1 { font-size: 20px; line-height: 1.3; margin: 0 0 12px }
#first-words p { margin: 0 }
"""
"""Styles for the first words; the rest is in the style sheet, which loads later.

They are not in Inter: it may arrive when they are drawn, and would move them.
"""
REPLACE = """
addEventListener('load', () => {
  const app = document.getElementById('app');
  const watch = new MutationObserver(() => done());
  const done = () => app.firstChild && (document.getElementById('first-words')?.remove(), watch.disconnect());
  watch.observe(app, { childList: true });
  done();
});
"""
"""Removes the first words once the page is drawn: the DOM must have only one `main`."""
DRESS = """
const dressed = new Promise((done) => {
  const dress = ({ type, target }) => {
    if (type === 'error' && target.media === 'print') target.remove();
    const sheets = [...document.querySelectorAll('link[media=print]')];
    if (!document.body || !sheets.every((one) => one.sheet)) return;
    sheets.forEach((one) => { one.media = 'all'; });
    done();
  };
  for (const event of ['load', 'error', 'DOMContentLoaded']) document.addEventListener(event, dress, true);
});
"""
"""Applies the style sheets together, once the last has arrived: they load in parallel with the scripts.

The page is drawn after that (see `Bundles`), since what it draws measures itself, and reads its colours.
"""


class _TemplateLoader(jinja2.BaseLoader):
    """Loads NiceGUI's templates with bundles, and without the style sheets that `style_sheet` includes."""

    def __init__(self, loader: jinja2.BaseLoader, bundles: Bundles) -> None:
        self._loader, self._bundles = loader, bundles

    @override
    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, Any, Any]:
        source, file, fresh = self._loader.get_source(environment, template)
        return self._bundles.rewrite_template(IMPORTS.sub('', source)), file, fresh


def install_templates(bundles: Bundles) -> None:
    """Serve pages with bundled scripts and without render-blocking style sheets."""
    loader = templates.env.loader
    if loader is not None and not isinstance(loader, _TemplateLoader):
        templates.env.loader = _TemplateLoader(loader, bundles)
        templates.env.filters |= {'bundled': bundles.rewrite_imports, 'placed': place_links}


def place_links(html: str, prefix: str) -> str:
    """Return HTML of ours with its links below the path of a proxy."""
    return LINKS.sub(rf'\g<0>{prefix}', html) if prefix else html


@functools.cache
def style_sheet(own: tuple[str, ...], address: Callable[[str], str]) -> str:
    """Return the styles of every page: NiceGUI's in its layers, our own, and the fonts at their addresses."""
    parts = [LAYERS]
    for layer, file in PARTS:
        css = COMMENTS.sub('', (STATIC / file).read_text('utf-8'))
        parts.append(f'@layer {layer} {{ {quasar.prune(css) if file.startswith("quasar") else css} }}')
    parts += [colour_sheet(), own_styles(own)]
    # relative: a proxy may serve us below a path
    parts += [FONT_FACES.substitute({name: address(file).removeprefix('/') for name, file in FONTS.items()})]
    parts += ['#app { display: block } body:has(#app > .nicegui-layout) #first-words { display: none }']
    return '\n'.join(parts)


def own_styles(names: tuple[str, ...]) -> str:
    """Return our style sheets in one text, without comments and indentation."""
    text = '\n'.join((STYLES / f'{name}.css').read_text('utf-8') for name in names)
    return re.sub(r'\n\s*', '\n', COMMENTS.sub('', text))


def sheet_html(sheet: str) -> str:
    """Return a link to a style sheet that delays nothing; `DRESS` applies it."""
    return f'<link rel="stylesheet" href="{sheet}" media="print" fetchpriority="high">'


def preload_html(font: str) -> str:
    """Return a link to a font that is drawn at once: one that arrives later is used on the next page."""
    return f'<link rel="preload" href="{font}" as="font" type="font/woff2" crossorigin>'


def head_html(sheet: str, address: Callable[[str], str]) -> str:
    """Return links to the style sheet of every page and to the fonts."""
    preloads = ''.join(preload_html(address(FONTS[name])) for name in PRELOADED)
    colour = f'#first-words {{ color: {TONES["text"].light} }}'
    return (
        f'<style>{CRITICAL}{colour}</style>{sheet_html(sheet)}{preloads}'
        f'<meta name="color-scheme" content="light dark"><script>{DRESS}{REPLACE}</script>'
    )


def placeholder_html(title: str, here: str, navigation: Sequence[tuple[str, str]]) -> str:
    """Return header and title as plain HTML, shown while the scripts that draw the page are loading."""
    links = ''.join(
        f'<a href="{path}"{" aria-current=page" if path == here else ""}>{name}</a>'
        for path, name in navigation
    )
    return (
        f'<div id="first-words"><header><a href="/">{MARK} <b>Hemicycle</b></a><nav>{links}</nav></header>'
        f'<main><h1>{escape(title)}</h1><p role="status">Loading…</p></main></div>'
    )
