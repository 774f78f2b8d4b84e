"""Panels of the run page: tabs, the plan under the diagram, and cards of tasks above the agents."""
