"""What changed between two versions of a chart."""

from engine.charts.difference.compare import compare_shapes
from engine.charts.difference.records import EdgeDifference, FieldChange, ShapeDifference, StateDifference

__all__ = ['EdgeDifference', 'FieldChange', 'ShapeDifference', 'StateDifference', 'compare_shapes']
