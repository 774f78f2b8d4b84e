"""The fork tree of a run."""
