"""What checking and rehearsing a chart came to, below its text and its diagram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.operations.rehearsal import Finding, Rehearsal
from ui.formatting.usage import cost_sentence
from ui.formatting.values import count
from ui.web.components.tabs import Tabs
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, CachedElement, Text
from ui.web.pages.charts.checking import TextProblem
from ui.web.pages.shared.rehearsal import draw_cost, draw_findings

PROBLEMS, REHEARSAL, COST = 'Problems', 'Rehearsal', 'Cost'


class Results:
    """The panel with its tabs."""

    def __init__(
        self,
        *,
        on_line: Callable[[int], object],
        on_finding: Callable[[Finding], object],
        unsaid: Sequence[str] = (),
    ) -> None:
        """Draw it, empty.

        Args:
            on_line: gets the line of a problem that is clicked.
            on_finding: gets the finding that is clicked.
            unsaid: what of a Python pattern a chart cannot say.
        """
        self._on_line, self._on_finding = on_line, on_finding
        with Box('panel editor-results', 'section', aria_label='Problems and rehearsal'):
            self._tabs = Tabs('Problems and rehearsal')
            if unsaid:
                with self._tabs.panel(f'What it cannot say ({len(unsaid)})'), Box('editor-unsaid', 'ul'):
                    for text in unsaid:
                        Text('li', text)
            with self._tabs.panel(PROBLEMS):
                self._problems = CachedElement()
            with self._tabs.panel(REHEARSAL):
                self._findings = CachedElement()
            with self._tabs.panel(COST):
                self._cost = CachedElement()
            with self._tabs.aside:
                self._summary = Text('span', '', 'muted small', role='status')

    def show_problems(self, problems: Sequence[TextProblem]) -> None:
        """List the problems of the text; a click leads to the line."""
        errors = [problem for problem in problems if problem['level'] == 'error']
        self._summary.show(count(len(errors), 'error') if errors else '')
        if errors:
            self._tabs.open(PROBLEMS)
        if not self._problems.clear_if_changed(tuple(tuple(problem.values()) for problem in problems)):
            return
        with self._problems:
            if not problems:
                empty_state('check', 'No problems.')
            for problem in problems:
                line = problem['line']
                with Box('editor-problem', 'button', type='button') as row:
                    Text('b', f'Line {line}' if line else 'Chart', f'level-{problem["level"]}')
                    Text('span', problem['text'])
                row.on('click', partial(self._on_line, line or 1))

    def show_rehearsal(self, rehearsal: Rehearsal) -> None:
        """Show what the chart can do, and what it costs at most."""
        self._summary.show(
            'No upper bound of cost' if rehearsal.cost.unbounded_calls else cost_sentence(rehearsal.cost)
        )
        if self._findings.clear_if_changed(rehearsal):
            with self._findings:
                draw_findings(rehearsal, self._on_finding)
        if self._cost.clear_if_changed(rehearsal.cost):
            with self._cost:
                draw_cost(rehearsal.cost)
