"""The report of a run, as stated by its pattern; of one that no longer exists, as written in memory."""

from __future__ import annotations

from engine.configuration.catalog import Catalog
from engine.records import Shape, StatedReport, View


def report_of(catalog: Catalog, shape: Shape, view: View) -> StatedReport:
    """Return a run's report at the step of `view`."""
    written = str(view.memory.get(shape.field('report')) or '')
    pattern = catalog.find(shape.pattern)
    return pattern.state_report(view, written) if pattern else StatedReport(text=written)
