"""Agents that choose their tools, and what they are complete by."""
