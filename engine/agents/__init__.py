"""Agents that patterns are made of: one file, one agent."""
