"""Drafts: each version of a result, the review it got, and what changed from one to the next."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, repeat

from nicegui import ui
from typing_extensions import override

from engine.history import diff_words_async
from engine.patterns import Draft, Review
from engine.records import Shape, View
from engine.statechart import read_leniently
from ui.web.components.elements import DiffText, draw_markdown
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, CachedElement, Text, disclosure
from ui.web.pages.run.pane import LazyPanel, Moment, RunPage, StripPart
from ui.web.replay.history import pad_positions

PANEL = 'drafts'


class DraftProgress(StripPart):
    """How many drafts there are, and their scores."""

    panel = PANEL

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._shape = page.context.shape
        self._text = Text('span', '', 'run-progress num')

    @override
    def show_step(self, moment: Moment) -> None:
        self._text.show(draft_progress(self._shape, moment.view) or 'No draft yet')


class Drafts(LazyPanel):
    """All drafts up to the step that is shown, the newest first."""

    title = 'Drafts'
    panel = PANEL

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._shape, self._follower = page.context.shape, page.follower
        self._unfolded: set[str] = set()
        self._root = CachedElement('drafts')

    def fill(self, view: View) -> None:
        """Draw the drafts at the step of `view`, if they have changed."""
        steps = self._follower.index.history.appended_to(self._shape.field(PANEL))
        drafts = drafts_of(self._shape, view)
        seqs = [at.seq for at in pad_positions(steps, len(drafts))]
        if not self._root.clear_if_changed((drafts, seqs)):
            return
        with self._root:
            if not drafts:
                empty_state('edit_note', 'There is no draft yet.')
                return
            for place in reversed(range(len(drafts))):
                self._draw_draft(drafts[place], drafts[place - 1] if place else None, seqs[place])

    def _draw_draft(self, draft: ReviewedDraft, before: ReviewedDraft | None, seq: int) -> None:
        with Box(f'draft {draft.state}', 'article'):
            with Box('draft-head'):
                Text('h3', f'Draft {draft.number}')
                if draft.number > 1:
                    Text('span', f'revision {draft.number - 1} of {draft.limit}', 'muted small num')
                if draft.review:
                    Text('span', f'score {draft.review.score}{_score_change(draft, before)}', 'chip num')
                Text('span', draft.verdict, 'draft-state')
                Box('grow', 'span')
                if seq:
                    button(f'Step {seq}', kind='quiet small').on('click', lambda: self.page.seek(seq))
            if draft.review and (draft.review.summary or draft.review.comments):
                listed = ''.join(f'\n- {comment}' for comment in draft.review.comments)
                draw_markdown(f'{draft.review.summary}\n{listed}', f'Review of draft {draft.number}')
            if before is not None:
                self._draw_difference(draft, before)
            with disclosure(self._unfolded, f'text {draft.number}', 'Text', 'panel-fold'):
                draw_markdown(draft.text, f'Text of draft {draft.number}')

    def _draw_difference(self, draft: ReviewedDraft, before: ReviewedDraft) -> None:
        title = f'What changed since draft {before.number}'
        with disclosure(self._unfolded, f'changes {draft.number}', title, 'panel-fold'):
            sides = Box('draft-sides')

        async def compare() -> None:
            differing = await diff_words_async(before.text, draft.text)
            if sides.is_deleted:
                return
            with sides:
                pieces = differing or ([(True, before.text)], [(True, draft.text)])
                for side, version, part in zip('AB', (before, draft), pieces, strict=True):
                    with Box('draft-side'):
                        Text('h4', f'Draft {version.number}')
                        DiffText(part, side)

        ui.timer(0, compare, once=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedDraft:
    """One version, with its review if it has one."""

    number: int
    limit: int
    """Maximum number of revisions."""
    text: str
    review: Review | None = None

    @property
    def approved(self) -> bool | None:
        """Its verdict; None while it has not been reviewed."""
        return self.review.approved if self.review else None

    @property
    def state(self) -> str:
        """The CSS class of its verdict."""
        return {True: 'approved', False: 'returned', None: 'open'}[self.approved]

    @property
    def verdict(self) -> str:
        """`approved`, `sent back` or `not reviewed yet`."""
        return {True: 'approved', False: 'sent back', None: 'not reviewed yet'}[self.approved]


def drafts_of(shape: Shape, view: View) -> list[ReviewedDraft]:
    """Return the drafts at a step, the oldest first."""
    reviews = read_leniently(list[Review], view.memory.get(shape.field(PANEL, 'reviews')))
    drafts = read_leniently(list[Draft], view.memory.get(shape.field(PANEL)))
    limit = read_leniently(int, view.memory.get(shape.field(PANEL, 'limit')))
    pairs = zip(drafts, chain(reviews, repeat(None)), strict=False)
    return [
        ReviewedDraft(number=number, limit=limit, text=draft.text, review=review)
        for number, (draft, review) in enumerate(pairs, start=1)
    ]


def draft_progress(shape: Shape, view: View) -> str:
    """Return the progress of the drafts: `Revision 2 of 3 · scores 55, 70`; '' if there is none."""
    drafts = drafts_of(shape, view)
    if not drafts:
        return ''
    last = drafts[-1]
    # While a draft that was sent back is being revised, the next revision counts.
    number = last.number - (last.approved is not False or view.status.ended)
    where = f'Revision {number} of {last.limit}' if number else 'First draft'
    scores = [str(draft.review.score) for draft in drafts if draft.review]
    if not scores:
        return where
    return f'{where} · {"score" if len(scores) == 1 else "scores"} {", ".join(scores)}'


def _score_change(draft: ReviewedDraft, before: ReviewedDraft | None) -> str:
    """Return the change of the score since the previous draft, in brackets."""
    if before is None or before.review is None or draft.review is None:
        return ''
    change = draft.review.score - before.review.score
    return f' ({change:+d})' if change else ' (unchanged)'
