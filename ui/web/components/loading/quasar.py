"""Quasar reduced to what pages use: its full script and style sheet are three times as large."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

COMPONENTS = (
    *('QCheckbox', 'QDialog', 'QIcon', 'QInput', 'QLayout', 'QMenu', 'QPage', 'QPageContainer', 'QTooltip'),
)
"""The components in our build of Quasar's script (`python -m tests.browser.quasar`)."""
PLUGINS = ('Dark', 'IconSet', 'Lang', 'Notify')
SCRIPT = Path('vendor') / 'quasar.js'
VERSION = re.compile(r'(?:Quasar(?: Framework)?|vue) v([\d.]+)')

KEPT = (
    *('anchor', 'body', 'btn', 'checkbox', 'control', 'dialog', 'field', 'focus', 'focusable', 'hoverable'),
    *('icon', 'input', 'layout', 'menu', 'notification', 'notifications', 'page', 'placeholder', 'portal'),
    *('position-engine', 'ripple', 'spinner', 'textarea', 'tooltip', 'transition'),
)
"""Prefixes (after `q-`) of the class names of these components and their parts."""
_CLASS = re.compile(r'\.q-([a-z-]+)')
_USED = re.compile(f'(?:{"|".join(KEPT)})(?:-|$)')
_UNUSED = re.compile(
    r'\[dir="rtl"\]|@keyframes q-(?:skeleton|circular|linear)'
    r'|\.(?:q-(?:[mp][atrblxy]?|gutter|col-gutter)-|q-btn-(?:group|dropdown|toggle)'
    r'|q-(?:field--(?:filled|standout|rounded|square|item-aligned)|transition--(?:flip|rotate))'
    r'|(?:text|bg)-(?:red|pink|purple|deep|indigo|blue|light|cyan|teal|green|lime|yellow|amber|orange|brown|grey)'
    r'|(?:col|offset|order|inset-shadow|shadow|animated)-|text-(?:h\d|sub|body|cap|over|weight)'
    r'|(?:xs|sm|md|lg|xl|lt|gt)\b)'
)
"""What our pages do not use: they have their own styles, and are laid out from left to right."""


def version(script: Path) -> str:
    """Return the version at the beginning of a script of Quasar or Vue; '' if there is none."""
    with script.open(encoding='utf-8') as file:
        match = VERSION.search(file.read(300))
    return match[1] if match else ''


def smallest(whole: Path, part: Path) -> Path:
    """Return the part of a script of NiceGUI's that we have, or the whole if its version differs."""
    return part if version(part) == version(whole) else whole


def prune(css: str) -> str:
    """Remove the rules of components and utilities that no page uses from a style sheet."""
    rules = []
    for head, body in _rules(css):
        used, inside = head, body
        if ':has(' in head:  # Labels of autofilled fields: slow, and no page has such fields.
            continue
        if head.startswith(('@media', '@supports')):
            inside = prune(body)
        elif head.startswith('@keyframes'):
            used = '' if _UNUSED.search(head) else head
        elif not head.startswith('@'):
            used = ','.join(selector for selector in head.split(',') if _is_used(selector))
        if used and inside:
            rules.append(f'{used}{{{inside}}}')
    return ''.join(rules)


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Yield each rule's selectors, or its at-keyword, and the text between its braces."""
    depth = start = inside = 0
    head = ''
    for brace in re.finditer('[{}]', css):
        if brace[0] == '{':
            if depth == 0:
                head, inside = css[start : brace.start()].strip(), brace.end()
            depth += 1
            continue
        depth -= 1
        if depth == 0:
            yield head, css[inside : brace.start()]
            start = brace.end()


def _is_used(selector: str) -> bool:
    return not _UNUSED.search(selector) and all(map(_USED.match, _CLASS.findall(selector)))
