"""Sets the interpreter up for a server: short pauses for garbage, quick turns for the writer's thread."""

from __future__ import annotations

import gc
import sys

THRESHOLDS = (50_000, 20, 100)
"""A step makes some hundred objects that die at once: collections are for what does not, and can be rare."""
TURN = 0.0005
"""Seconds after which a waiting thread gets the interpreter: a tenth of Python's own, for the writer."""


def tune() -> None:
    """To be called once everything is imported: what is there now will stay, and is not looked at again.

    Without it, each full collection walks over all modules and stops the event loop for a tenth of a second.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    sys.setswitchinterval(TURN)
