"""What became of the runs of a bundle, in words."""

from __future__ import annotations

from engine import Imported


def told(found: Imported) -> str:
    """What became of one run, in a sentence."""
    what = {
        'new': f'Run {found.run} is taken in',
        'renamed': f'Run {found.run} is taken in: another run here has its id {found.origin}',
        'known': f'Run {found.run} is here already, with the same history',
    }[found.outcome]
    ended = '; it came unfinished, and can be looked at and forked' if found.closed else ''
    return f'{what}{ended}: {found.title}'
