"""Debates as chart components: turns, seats, consensus, synthesis and records."""
