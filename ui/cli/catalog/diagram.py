"""hemicycle diagram: a pattern's chart as Mermaid, DOT or SVG."""

from __future__ import annotations
