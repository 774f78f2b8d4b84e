"""hemicycle merge: merges an agent's work into a branch of the project, or prints it as a patch."""

from __future__ import annotations
