"""The card of a drafted chart: its cost, what was found on the way, how it differs, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from engine.patterns import ChartDraft
from engine.records import View
from engine.statechart import read_leniently
from ui.formatting.results.drafts import draft_facts, draft_state, rounds_title
from ui.formatting.values import as_sentence
from ui.web.components.theme import text_notice
from ui.web.components.widgets import Box, CachedElement, Text, disclosure, set_class
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.run.story.draft.actions import DraftActions
from ui.web.pages.run.story.draft.picture import Picture

PANEL = 'chart'
REVIEW = 'review'
"""What the run waits for, if a person decides about the draft."""


class DraftCard(Pane):
    """Drawn while a person decides about a draft, and once the run has ended."""

    place = 'story'
    faces = ('watch',)
    panel = PANEL
    inputs = frozenset({'accept', 'revise', 'rewrite', 'discard'})

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._unfolded: set[str] = set()
        self._root = CachedElement('draft-card panel', 'section', aria_label='Draft of a chart')
        self._root.set_visibility(False)

    @override
    def show(self, moment: Moment) -> None:
        view = moment.view
        drafts = read_leniently(list[ChartDraft], self._field(view, ''))
        shown = bool(drafts) and (view.waiting == REVIEW or view.status.ended)
        self._root.set_visibility(shown)
        set_class(self._root, 'shown', on=shown)
        asks = moment.may_answer and view.waiting == REVIEW
        facts = (drafts, asks, view.status, self._field(view, 'version'), view.memory.get('problem'))
        if shown and self._root.clear_if_changed(facts):
            with self._root:
                self._draw(view, drafts, asks=asks)

    def _field(self, view: View, part: str) -> Any:
        return view.memory.get(self.context.shape.field(PANEL, part))

    def _draw(self, view: View, drafts: Sequence[ChartDraft], *, asks: bool) -> None:
        draft, saved = drafts[-1], bool(self._field(view, 'version'))
        tone, words = draft_state(draft, saved=saved)
        with Box('result-head'):
            Text('h2', f'Draft {draft.number}' + (f': {draft.chart}' if draft.chart else ''), dir='auto')
            Text('span', words, f'chip {tone}')
            Box('grow', 'span')
            actions = DraftActions(self.context, draft)
            if asks:
                actions.draw_decision()
            elif view.status.ended:
                actions.draw_next_steps(saved=saved)
        if problem := str(view.memory.get('problem') or ''):
            text_notice('fail', 'error', f'Not saved: {as_sentence(problem)}')
        with Box('draft-facts'):
            for fact in draft_facts(draft):
                Text('p', fact)
        if draft.note:
            Text('p', draft.note, dir='auto')
        self._draw_rounds(drafts)
        base = str(self._field(view, 'base') or '')
        # The text of what came out is the run's result, below.
        Picture(drafts, base, with_text=not view.status.ended).draw(self._unfolded)

    def _draw_rounds(self, drafts: Sequence[ChartDraft]) -> None:
        """Draw what was found in each draft, the newest first."""
        if not any(draft.findings for draft in drafts):
            return
        if drafts[-1].serious:
            self._unfolded.add('rounds')
        with disclosure(self._unfolded, 'rounds', rounds_title(drafts), 'panel-fold'):
            for draft in reversed(drafts):
                _, words = draft_state(draft)
                by = ', edited by a person' if draft.by == 'person' else ''
                Text('h3', f'Draft {draft.number}{by}: {words.lower()}')
                with Box('draft-findings', 'ul'):
                    for finding in draft.findings:
                        with Box(f'level-{finding.level}', 'li'):
                            if finding.line:
                                Text('span', f'Line {finding.line}', 'muted num')
                            Text('span', as_sentence(finding.text), dir='auto')
