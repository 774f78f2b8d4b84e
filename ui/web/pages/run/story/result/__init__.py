"""The result of a run: a card over its agents, once it has ended."""
