"""The parts of the parallel review: what it asks for, what it remembers, its prompts and its rules."""
