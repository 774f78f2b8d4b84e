"""Candidates side by side: model, status, tests, files, ranking, versions, and a choice."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui
from typing_extensions import override

from engine.patterns import Suite, Version
from engine.records import View
from ui.formatting.files import size
from ui.web.components.elements import draw_markdown
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, Text, disclosure, set_attributes, text_link
from ui.web.pages.run.pane import Moment, Panel, RunPage
from ui.web.pages.run.review.coder_seat import CoderSeat, coder_turn
from ui.web.pages.run.review.contest import CHOICE, CONFLICTS, FILES, PICKED, Contestant, contestants
from ui.web.pages.run.review.decision import Decision
from ui.web.pages.run.review.difference import VersionDiff
from ui.web.pages.run.review.line_comments import LineComments
from ui.web.pages.run.review.verdict import draw_deciding_tests, draw_test_result, test_line

STATES = {
    'working': ('pending', 'Working'),
    'ready': ('check', 'Ready'),
    'failed': ('error_outline', 'Failed'),
    'stopped': ('stop_circle', 'Stopped'),
    'set aside': ('inventory_2', 'Set aside'),
}
PLACES = ('', '1st', '2nd', '3rd')


class Candidates(Panel):
    """All candidates for one task, at the step that is shown."""

    title = 'Candidates'
    panel = 'candidates'
    inputs = frozenset({'choose', 'take_files', 'resolve', 'hand_in', 'comment'})

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._shown: object = None
        self._opened: set[str] = set()
        with Box('candidates') as self.root:
            self._seat = CoderSeat(page.context)
            self._decision = Decision(page.context)
            text_link(f'/runs/{page.context.run}/review', 'Review and merge', 'btn small', icon='merge')
            self._cards = Box('candidate-cards')
            self._difference = VersionDiff(page.context)
            self._comments = LineComments(page.context)
            self._version_list = Box('version-history', 'section', aria_label='Versions')
        with Box() as self._none:
            empty_state('compare', 'No candidates yet.')

    def pending_action(self, view: View) -> str:
        """Return a note while a person has to decide, or to work in a coder's seat."""
        if view.waiting in (CHOICE, FILES, CONFLICTS):
            return 'your decision'
        return 'your turn' if coder_turn(view, self.context.shape) else ''

    def relevance(self, view: View) -> int:
        """Return 2 while a person is asked, which takes precedence over a debate."""
        return 2 if self.pending_action(view) else 0

    @override
    def show(self, moment: Moment) -> None:
        view = moment.view
        candidates = contestants(view, self.context.shape, self.context.history)
        is_asked = moment.may_answer and view.waiting == CHOICE
        self._seat.show(moment)
        self._decision.show(moment, candidates)
        self._comments.show(moment, candidates)
        content = (candidates, is_asked, self._seat.name)
        if content == self._shown:
            return
        self._shown = content
        begun = bool(self._seat.name) or any(
            contestant.candidate.versions or contestant.candidate.problem for contestant in candidates
        )
        self.root.set_visibility(begun)
        self._none.set_visibility(not begun)
        self._cards.clear()
        with self._cards:
            for contestant in candidates:
                self._draw_card(contestant, is_asked=is_asked)
        self._version_list.clear()
        with self._version_list:
            Text('h2', 'Versions')
            for contestant in candidates:
                if contestant.candidate.versions:
                    self._draw_versions(contestant)
        self._difference.set_versions(candidates)

    @override
    def open(self, opened: bool) -> None:
        self._difference.open(opened)
        self._comments.open(opened)

    def _draw_card(self, contestant: Contestant, *, is_asked: bool) -> None:
        candidate, version = contestant.candidate, contestant.candidate.latest
        with Box(f'candidate {"picked" if contestant.picked else ""}', 'article') as card:
            set_attributes(card, aria_label=contestant.name)
            with Box('candidate-head'):
                Text('h3', contestant.name)
                if contestant.rank:
                    place = (
                        PLACES[contestant.rank] if contestant.rank < len(PLACES) else f'{contestant.rank}th'
                    )
                    Text('span', place, 'chip strong', title=f'Ranked {place}: {contestant.points:g} points')
                Box('grow', 'span')
                icon, word = STATES.get(contestant.status, ('help_outline', contestant.status))
                with Box(f'chip state-{contestant.status.replace(" ", "-")}', 'span'):
                    ui.icon(icon, size='15px')
                    ui.label(word)
            if contestant.picked:
                with Box('candidate-picked', 'p'):
                    ui.icon('star', size='16px')
                    Text('span', f'Picked: {PICKED.get(contestant.picked, contestant.picked)}')
            facts = [candidate.model, f'version {version.number}' if version else '']
            Text('p', ' · '.join(filter(None, facts)), 'muted small')
            if candidate.problem:
                Text('p', candidate.problem, 'candidate-problem')
            if version:
                if not version.evidence.none_required:
                    self._draw_tests(contestant.name, 'Required tests', version.evidence.required)
                self._draw_tests(contestant.name, 'Own tests', version.evidence.own)
                self._draw_files(version)
                if version.said:
                    with Box('candidate-messages', tabindex='0'):
                        draw_markdown(version.said, 'Summary')
            if is_asked and candidate.in_play:
                take = button(f'Choose {contestant.name}', icon='how_to_reg', kind='primary')
                take.on('click', lambda: self._decision.confirm(contestant))

    def _draw_tests(self, name: str, title: str, suite: Suite) -> None:
        with Box('candidate-tests'):
            draw_test_result(suite, title)
            total = suite.passed + suite.broken
            if total and suite.counted:
                with Box('test-bar', aria_hidden='true'):
                    Box().style(f'width: {suite.passed / total:.1%}')
            if suite.failures or suite.problem:
                self._draw_failures(f'{name}/{title}', suite)

    def _draw_failures(self, key: str, suite: Suite) -> None:
        listed, broken = len(suite.failures), suite.broken
        number = f'{broken}' if listed == broken else f'the first {listed} of {broken}'
        with disclosure(
            self._opened, key, 'Why there is no result' if suite.problem else f'Failures ({number})'
        ):
            if suite.problem:
                Text('pre', suite.problem, tabindex='0')
            for test in suite.failures:
                Text('b', test.name, 'mono')
                Text('pre', test.detail, tabindex='0', aria_label=f'Why {test.name} failed')

    def _draw_files(self, version: Version) -> None:
        with Box('candidate-files', 'ul'):
            for file in version.files:
                with Box(tag='li'):
                    Text('span', file.path, 'mono')
                    if version.merged and file.path in version.merged:
                        Text('span', f'from {version.merged[file.path]}', 'chip')
                    Text('span', size(file.size), 'muted small num')

    def _draw_versions(self, contestant: Contestant) -> None:
        Text('h3', contestant.name)
        versions = contestant.candidate.versions
        with Box('version-entries', 'ol'):
            for before, version, seq in zip((None, *versions[:-1]), versions, contestant.seqs, strict=True):
                self._draw_version(before, version, seq)

    def _draw_version(self, before: Version | None, version: Version, seq: int) -> None:
        with Box('version-entry', 'li'):
            with Box('version-entry-head'):
                Text('b', f'Version {version.number}')
                draw_deciding_tests(version)
                if not version.evidence.none_required:
                    Text('span', f'own: {test_line(version.evidence.own)}', 'muted small num')
                Box('grow', 'span')
                if before and before.snapshot != version.snapshot:
                    change = button('Changes', icon='difference', kind='quiet small')
                    change.on('click', lambda: self._difference.compare(before.snapshot, version.snapshot))
                if seq:
                    go = button(f'Step {seq}', kind='quiet small num')
                    go.on('click', lambda: self.page.seek(seq))
            if version.merged:
                taken = ', '.join(f'{path} from {coder}' for path, coder in version.merged.items())
                Text('p', f'Merged: {taken}', 'small')
            self._draw_answers(version.answers)

    def _draw_answers(self, answers: Sequence[str]) -> None:
        if not answers:
            return
        Text('p', 'Responses to review', 'muted small')
        with Box(tag='ul'):
            for answer in answers:
                Text('li', answer)
