"""A fleet of real processes: servers and workers that are killed, frozen, stopped and drained."""
