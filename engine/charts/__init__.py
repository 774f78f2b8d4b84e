"""Charts as files: the format, and the pattern that a file becomes."""

from engine.charts.format import ChartFile as ChartFile
from engine.charts.format import chart_schema as chart_schema
from engine.charts.pattern import ChartPattern as ChartPattern
from engine.charts.pattern import load_chart as load_chart
from engine.charts.source import ChartSource as ChartSource
