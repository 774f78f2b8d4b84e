"""The scripted model as a coding agent: a keyless program that speaks the Agent Client Protocol."""
