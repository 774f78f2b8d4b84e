"""Runs that are ticked in a list, and the bar that says what can be done with all of them at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from nicegui import ui

from engine import RunId, RunInfo
from ui.parts import Text, attach
from ui.presenters.words import count
from ui.theme import button

KEYS = """(event) => {
    if (!event.target.matches('.run-link, .run-tick')) return;
    const rows = [...event.currentTarget.querySelectorAll('.run')];
    const here = rows.indexOf(event.target.closest('.run'));
    const tick = (row) => { const box = row.querySelector('.run-tick'); if (!box.checked) box.click(); };
    const moves = { ArrowDown: here + 1, ArrowUp: here - 1 };
    if (event.key === ' ' && event.target.matches('.run-link')) {
        event.preventDefault();
        const click = new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey: event.shiftKey });
        rows[here].querySelector('.run-tick').dispatchEvent(click);
    } else if (event.key === 'Escape') {
        document.querySelector('.bulk-clear')?.click();
    } else if (event.key in moves) {
        event.preventDefault();
        const next = rows[moves[event.key]];
        if (!next) return;
        if (event.shiftKey) { tick(rows[here]); tick(next); }
        next.querySelector('.run-link').focus();
    }
}"""
"""On the list: arrows go from run to run, with Shift they tick; the space bar ticks, Escape clears."""


class Selection:
    """Which runs are ticked; only such as are shown, so that nothing happens to a run out of sight."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._shown: list[RunId] = []
        self._infos: dict[RunId, RunInfo] = {}
        self._ticked: set[RunId] = set()
        self._last: RunId | None = None
        """The run that was ticked last: Shift reaches from there."""

    @property
    def runs(self) -> list[RunInfo]:
        """The ticked runs, in the order of the list."""
        return [self._infos[run] for run in self._shown if run in self._ticked]

    def __contains__(self, run: RunId) -> bool:
        return run in self._ticked

    def show(self, infos: Iterable[RunInfo]) -> None:
        """The list shows these runs now, in this order."""
        self._infos = {info.id: info for info in infos}
        self._shown = list(self._infos)
        kept = self._ticked & self._infos.keys()
        if kept != self._ticked:
            self._ticked = kept
            self._on_change()

    def tick(self, run: RunId, on: bool, *, reach: bool = False) -> None:
        """Tick a run or no longer; with `reach` all from the one before up to it."""
        if run not in self._infos:
            return
        here, there = self._shown.index(run), self._shown.index(run)
        if reach and self._last in self._infos:
            there = self._shown.index(self._last)
        for other in self._shown[min(here, there) : max(here, there) + 1]:
            self._ticked.add(other) if on else self._ticked.discard(other)
        self._last = run
        self._on_change()

    def all(self) -> None:
        """Tick all runs that are shown."""
        self._ticked = set(self._shown)
        self._on_change()

    def clear(self) -> None:
        """Tick none."""
        self._ticked, self._last = set(), None
        self._on_change()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something that can be done with several runs."""

    text: str
    icon: str
    act: Callable[[Sequence[RunInfo]], Awaitable[object]]
    kind: str = ''
    least: int = 1
    most: int | None = None
    """How many runs it takes."""


class BulkBar:
    """What can be done with the ticked runs; hidden while none is, and below all that it could move."""

    def __init__(self, selection: Selection, deeds: Sequence[Deed]) -> None:
        """Draw it, hidden."""
        self._selection, self._deeds = selection, deeds
        self._buttons: list[ui.element] = []
        with ui.element('div').classes('bulk').props('role="toolbar"') as self._box:
            attach(self._box, aria_label='Selected runs')
            self._told = Text('span', '', 'bulk-count num', role='status')
            for deed in deeds:
                made = button(deed.text, icon=deed.icon, kind=f'small {deed.kind}')
                made.on('click', lambda deed=deed: self._do(deed))
                self._buttons.append(made)
            ui.element('div').classes('grow')
            button('All here', kind='quiet small').on('click', selection.all)
            button('Clear', kind='quiet small bulk-clear').on('click', selection.clear)
        self._box.set_visibility(False)

    def show(self) -> None:
        """Say how many are ticked, and offer what fits that number."""
        number = len(self._selection.runs)
        self._box.set_visibility(number > 0)
        self._told.show(f'{count(number, "run")} selected')
        for deed, made in zip(self._deeds, self._buttons, strict=True):
            fits = deed.least <= number <= (deed.most or number)
            made.props(remove='disabled') if fits else made.props('disabled')

    async def _do(self, deed: Deed) -> None:
        runs = self._selection.runs
        if deed.least <= len(runs) <= (deed.most or len(runs)):
            await deed.act(runs)
