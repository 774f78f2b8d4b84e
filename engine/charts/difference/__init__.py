"""What changed between two versions of a chart."""

from engine.charts.difference.compare import EdgeDifference, ShapeDifference, StateDifference, compare_shapes
from engine.charts.difference.records import FieldChange

__all__ = ['EdgeDifference', 'FieldChange', 'ShapeDifference', 'StateDifference', 'compare_shapes']
