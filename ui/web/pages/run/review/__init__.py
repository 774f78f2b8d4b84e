"""Debates and candidates: the board, verdicts, seats and decisions."""
