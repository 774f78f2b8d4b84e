"""The window: pages and commands, drawn from the engine's records and steering through its door."""
