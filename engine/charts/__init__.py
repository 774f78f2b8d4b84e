"""Charts as plain data and as files: what a person writes, and what changed between two versions."""

from engine.charts.format import ChartFile as ChartFile
from engine.charts.pattern import ChartPattern as ChartPattern
from engine.charts.pattern import load_chart as load_chart
from engine.charts.source import ChartSource as ChartSource
