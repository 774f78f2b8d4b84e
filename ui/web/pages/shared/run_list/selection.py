"""Selected runs of a list, and the bar of bulk actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from nicegui import ui

from engine.records import RunId, RunInfo
from ui.formatting.values import count
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text
from ui.web.permission import is_permitted

KEYS = """(event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;  // browser shortcuts such as Back
    const list = event.currentTarget, rows = [...list.querySelectorAll('.run')];
    const here = rows.indexOf(event.target.closest('.run')), last = rows.length - 1;
    const controls = (row) => [...row.querySelectorAll('[role=gridcell] > :not(:disabled)')];
    const tick = (row) => { const box = row.querySelector('.run-tick'); if (!box.checked) box.click(); };
    const moves = { ArrowDown: Math.min(here + 1, last), ArrowUp: Math.max(here - 1, 0), Home: 0, End: last };
    const turns = { ArrowRight: 1, ArrowLeft: -1 };
    if (event.key === 'Tab') {  // the list is one tab stop: make the browser skip its controls
        const all = rows.flatMap(controls);
        for (const one of all) one.tabIndex = -1;
        const back = () => { for (const one of all) one.removeAttribute('tabindex'); };
        list.addEventListener('focusout', back, { once: true });  // before the next key press
        setTimeout(back);
    } else if (event.key === ' ' && event.target.matches('.run-link')) {
        event.preventDefault();
        const click = new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey: event.shiftKey });
        rows[here].querySelector('.run-tick').dispatchEvent(click);
    } else if (event.key === 'Escape') {
        document.querySelector('.bulk-clear')?.click();
    } else if (event.key in turns && here >= 0) {
        event.preventDefault();
        const row = controls(rows[here]);
        row[row.indexOf(event.target) + turns[event.key]]?.focus();
    } else if (event.key in moves && last >= 0) {
        event.preventDefault();
        const next = rows[moves[event.key]];
        const place = here < 0 ? 1 : controls(rows[here]).indexOf(event.target);
        if (event.shiftKey && here >= 0) { tick(rows[here]); tick(next); }
        (controls(next)[place] ?? next.querySelector('.run-link')).focus();
    }
}"""
"""Keys of the list, a single tab stop: arrows move, with Shift they select; Space selects, Escape clears."""


class Selection:
    """The selected runs, limited to visible ones so that bulk actions never affect hidden runs."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._shown: list[RunId] = []
        self._infos: dict[RunId, RunInfo] = {}
        self._ticked: set[RunId] = set()
        self._last: RunId | None = None
        """The run that was ticked last, where a Shift range starts."""

    @property
    def runs(self) -> list[RunInfo]:
        """The selected runs, in the order of the list."""
        return [self._infos[run] for run in self._shown if run in self._ticked]

    def __contains__(self, run: RunId) -> bool:
        return run in self._ticked

    def show(self, infos: Iterable[RunInfo]) -> None:
        """Set the runs that the list shows, in order."""
        self._infos = {info.id: info for info in infos}
        self._shown = list(self._infos)
        remaining = self._ticked & self._infos.keys()
        if remaining != self._ticked:
            self._ticked = remaining
            self._on_change()

    def tick(self, run: RunId, on: bool, *, reach: bool = False) -> None:
        """Select or deselect a run; with `reach`, the range from the last one."""
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
        """Select all runs that are shown."""
        self._ticked = set(self._shown)
        self._on_change()

    def clear(self) -> None:
        """Untick all runs."""
        self._ticked, self._last = set(), None
        self._on_change()


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkAction:
    """A button that acts on all ticked runs."""

    text: str
    icon: str
    act: Callable[[Sequence[RunInfo]], Awaitable[object]]
    requires: str
    """The conductor operation it performs; it is offered only to callers who may perform that."""
    min_runs: int = 1
    max_runs: int | None = None
    """`min_runs` and `max_runs` are the numbers of runs it accepts."""


class BulkBar:
    """The bar of actions on selected runs; hidden while none is selected."""

    def __init__(self, selection: Selection, actions: Sequence[BulkAction]) -> None:
        """Draw it, hidden."""
        self._selection = selection
        self._buttons: list[tuple[BulkAction, ui.element]] = []
        with Box('bulk', role='toolbar', aria_label='Selected runs') as self._box:
            self._count = Text('span', '', 'bulk-count num', role='status')
            for action in actions:
                if not is_permitted(action.requires):
                    continue
                action_button = button(action.text, icon=action.icon, kind='small')
                action_button.on('click', lambda action=action: self._perform(action))
                self._buttons.append((action, action_button))
            Box('grow')
            button('Select all', kind='quiet small').on('click', selection.all)
            button('Clear', kind='quiet small bulk-clear').on('click', selection.clear)
        self._box.set_visibility(False)

    def show(self) -> None:
        """Show the number of selected runs and the actions for that number."""
        number = len(self._selection.runs)
        self._box.set_visibility(number > 0)
        self._count.show(f'{count(number, "run")} selected')
        for action, action_button in self._buttons:
            fits = action.min_runs <= number <= (action.max_runs or number)
            action_button.props(remove='disabled') if fits else action_button.props('disabled')

    async def _perform(self, action: BulkAction) -> None:
        runs = self._selection.runs
        if action.min_runs <= len(runs) <= (action.max_runs or len(runs)):
            await action.act(runs)
