"""The colours of pages, exports and the terminal: a table of meanings, and the tones around them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from engine import Status


class Tone(NamedTuple):
    """A colour in light and in dark pages."""

    light: str
    dark: str


class Meaning(NamedTuple):
    """What a colour says: of text and borders, of the ground below them, and in a terminal."""

    words: str
    ink: Tone
    soft: Tone
    terminal: str


MEANINGS: Mapping[str, Meaning] = MappingProxyType(
    {
        'run': Meaning('Running', Tone('#1d5fd6', '#7db2ff'), Tone('#e2edff', '#16294a'), 'cyan'),
        'wait': Meaning('Needs you', Tone('#9a4a06', '#f3b04d'), Tone('#fff0da', '#3a2a10'), 'yellow'),
        'done': Meaning('Done', Tone('#12703a', '#58d68d'), Tone('#dff6e7', '#12331f'), 'green'),
        'issues': Meaning(
            'Done with issues', Tone('#566006', '#c5cf62'), Tone('#f1f3d2', '#2c2f12'), 'bright_green'
        ),
        'fail': Meaning('Failed', Tone('#b3202a', '#ff8a8a'), Tone('#ffe5e5', '#421a1d'), 'red'),
        'pause': Meaning(
            'Simulated, or paused', Tone('#6b3fb5', '#c3a5ff'), Tone('#f0e8ff', '#2c2148'), 'magenta'
        ),
        'stop': Meaning(
            'Past, or stopped', Tone('#4f5b6d', '#a7b1c1'), Tone('#e9ecf1', '#262c37'), 'bright_black'
        ),
    }
)
"""By the name of the style sheets' variable: nothing else is drawn in these colours."""
FAILED = MEANINGS['fail'].terminal
OF_STATUS: Mapping[Status, str] = MappingProxyType(
    {
        Status.RUNNING: 'run',
        Status.PAUSED: 'pause',
        Status.WAITING: 'wait',
        Status.DONE: 'done',
        Status.FAILED: 'fail',
        Status.CANCELLED: 'stop',
    }
)
TONES: Mapping[str, Tone] = MappingProxyType(
    {
        'bg': Tone('#f5f6f8', '#0e1117'),
        'surface': Tone('#ffffff', '#161a22'),
        'raised': Tone('#ffffff', '#1c212b'),
        'sunken': Tone('#eef0f4', '#10141b'),
        'line': Tone('#dfe3ea', '#2a303c'),
        'line-strong': Tone('#c3cad6', '#414a5a'),
        'text': Tone('#1a1f29', '#e6e9ef'),
        'muted': Tone('#566072', '#a0aaba'),
        'accent': Tone('#3f4fd0', '#93a1ff'),
        'accent-soft': Tone('#e8eaff', '#252c52'),
        'on-accent': Tone('#ffffff', '#0e1117'),
        'other': Tone('#0b6b75', '#5fd0dc'),
        'other-soft': Tone('#dcf3f5', '#0f3237'),
        'visited': Tone('#5c6a86', '#8d9bb8'),
        'veil': Tone('#0a0e1673', '#0a0e1673'),
        'shade': Tone('#141c2d0f', '#00000066'),
        'shade-far': Tone('#141c2d0d', '#00000040'),
    }
)
"""Those that say nothing about a status; `other` is the second of two things that are compared."""


def style_of(status: Status, error: str = '') -> str:
    """Return the style of a status in a terminal; a run that is done with an `error` fell short."""
    return MEANINGS['issues' if status is Status.DONE and error else OF_STATUS[status]].terminal


def declarations(scheme: str) -> str:
    """Return the variables of style sheets for the `light` or the `dark` scheme."""
    tones = dict(TONES)
    for name, meaning in MEANINGS.items():
        tones |= {name: meaning.ink, f'{name}-soft': meaning.soft}
    return ' '.join(f'--{name}: {getattr(tone, scheme)};' for name, tone in tones.items())


def colour_sheet() -> str:
    """Return the variables of both schemes, which our scripts choose by a class of the body."""
    return f':root {{ {declarations("light")} }}\n.body--dark {{ {declarations("dark")} }}\n'


def system_colour_sheet() -> str:
    """Return the variables of the scheme that the system prefers, for pages without scripts."""
    dark = f'@media (prefers-color-scheme: dark) {{ :root {{ {declarations("dark")} }} }}'
    return f':root {{ {declarations("light")} }}\n{dark}\n'
