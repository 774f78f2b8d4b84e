"""Datasets: cases on which experiments run."""

from engine.experiments.datasets.records import Case

__all__ = ['Case']
