"""Charts as files: the format, and the pattern that a file becomes."""

from engine.charts.format import chart_schema
from engine.charts.pattern import ChartPattern, load_chart
from engine.charts.source import ChartSource

__all__ = ['ChartPattern', 'ChartSource', 'chart_schema', 'load_chart']
