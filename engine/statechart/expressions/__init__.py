"""Expressions: a small language on JSON values, without side effects and with bounded work."""
