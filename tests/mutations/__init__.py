"""Deliberate bugs: each must turn a test red, or no test guards the rule it breaks."""
