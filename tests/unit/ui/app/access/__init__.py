"""Accounts, sessions, tokens, and the guard of the conductor."""
