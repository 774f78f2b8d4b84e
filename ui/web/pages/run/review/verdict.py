"""The outcome of a debate: verdict, who agreed, requests, evidence and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui import ui

from engine.patterns import Consensus, Position, Suite, Version
from ui.formatting.steps import role_title
from ui.web.components.widgets import Box, Text

VERDICT_WORDS = {
    'APPROVE': ('verified', 'Approve'),
    'REVISE_BEST': ('edit_note', 'Revise the best'),
    'REVISE_ALL': ('rule', 'Revise all'),
    'UNDECIDED': ('help_outline', 'Undecided'),
}
"""An icon and words for each verdict."""


def draw_stance(position: Position | Consensus) -> None:
    """Draw a verdict as a chip, with the candidate it refers to."""
    name, best = str(position.verdict), position.best
    icon, word = VERDICT_WORDS.get(name, ('help_outline', name.replace('_', ' ').capitalize()))
    with Box(f'chip stance {name.lower().replace("_", "-")}', 'span'):
        ui.icon(icon, size='16px')
        ui.label(f'{word}: {best}' if best else word)


def draw_verdict(
    consensus: Consensus, versions: Sequence[tuple[str, Version]], link: Callable[[], None]
) -> None:
    """Draw the outcome of a debate.

    Args:
        consensus: the outcome.
        versions: the version of each candidate at that point, with its tests.
        link: draws a link to the step.
    """
    synthesized = consensus.synthesized
    by = [role_title(name) for name in consensus.by]
    with Box('verdict synthesized' if synthesized else 'verdict'):
        with Box('verdict-head'):
            ui.icon('call_merge' if synthesized else 'handshake', size='22px')
            Text(
                'h3',
                'No consensus: synthesized' if synthesized else 'Consensus' if len(by) > 1 else 'Verdict',
            )
            draw_stance(consensus)
            Box('grow', 'span')
            link()
        text = (
            'No agreement was reached. This summary of the debate cannot approve anything.'
            if synthesized
            else f'Agreed by {_join_names(by)} in round {consensus.round}.'
            if len(by) > 1
            else f'Decided by {_join_names(by)}, the only reviewer.'
        )
        Text('p', text, 'muted')
        Text('p', consensus.text, 'verdict-text')
        with Box('verdict-parts'):
            _draw_list('Requested changes', consensus.changes, 'None.')
            _draw_list('Evidence', consensus.rests_on, 'None given.')
            if versions:
                with Box():
                    Text('h4', 'Tests shown to reviewers')
                    with Box('verdict-tests', 'ul'):
                        for name, version in versions:
                            with Box(tag='li'):
                                Text('b', f'{name} v{version.number}')
                                draw_deciding_tests(version)


def draw_deciding_tests(version: Version) -> None:
    """Draw the result of the tests that decide, by their name."""
    draw_test_result(version.evidence.required, version.evidence.title.capitalize())


def draw_test_result(suite: Suite, what: str) -> None:
    """Draw a test result: an icon, the counts, and a colour."""
    icon = 'check_circle' if suite.ok else 'cancel' if suite.broken else 'help_outline'
    kind = 'ok' if suite.ok else 'bad' if suite.broken else 'none'
    with Box(f'suite {kind}', 'span'):
        ui.icon(icon, size='16px')
        Text('span', what, 'muted')
        Text('span', test_line(suite), 'num')
        if suite.problem:
            ui.tooltip(suite.problem)


def test_line(suite: Suite) -> str:
    """Return the counts of tests on one line."""
    return 'no result' if suite.problem else suite.describe(',')


def _draw_list(title: str, entries: Sequence[str], nothing: str) -> None:
    with Box():
        Text('h4', title)
        if not entries:
            Text('p', nothing, 'muted')
            return
        with Box(tag='ul'):
            for entry in entries:
                Text('li', entry)


def _join_names(names: Sequence[str]) -> str:
    return ' and '.join([', '.join(names[:-1]), names[-1]]) if len(names) > 1 else ''.join(names)
