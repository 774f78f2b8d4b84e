"""Callers and what they may do: accounts, sessions, tokens, roles, and one guard for every client."""
