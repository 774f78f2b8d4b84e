"""The report of a run, as stated by its pattern; of one that no longer exists, as written in memory."""

from __future__ import annotations

from engine.configuration.catalog import Catalog
from engine.errors import UnknownPattern
from engine.records import Shape, StatedReport, View


def report_of(catalog: Catalog, shape: Shape, view: View) -> StatedReport:
    """Return a run's report at the step of `view`."""
    written = str(view.memory.get(shape.field('report')) or '')
    try:
        pattern = catalog.pattern(shape.pattern)
    except UnknownPattern:
        return StatedReport(text=written)
    return pattern.state_report(view, written)
