"""The charts on this machine: their files, their versions, and their patterns in a catalog."""

from engine.charts.library.files import version_of
from engine.charts.library.library import ChartLibrary, by_line, charts_folder
from engine.charts.library.records import ChartInfo, ChartText, ChartVersion

__all__ = ['ChartInfo', 'ChartLibrary', 'ChartText', 'ChartVersion', 'by_line', 'charts_folder', 'version_of']
