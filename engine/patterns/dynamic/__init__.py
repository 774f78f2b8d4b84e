"""Agents that choose their own tools, and their completion criteria."""
