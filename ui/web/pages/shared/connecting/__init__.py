"""Connecting a model: choose a provider, paste a key, test it, and use it."""
