"""The parts of the parallel review: parameters, memory, prompts and rules."""
