"""Charts for tests: short, random and ticking ones, and an interpreter to compare the engine with."""
