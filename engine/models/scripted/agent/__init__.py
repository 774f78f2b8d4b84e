"""The scripted model as a coding agent: a program that speaks the Agent Client Protocol, with no key."""
