"""Forking a run: overrides, cost estimate, variants side by side, and the fork tree."""
