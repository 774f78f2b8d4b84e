"""Callers and their permissions: accounts, sessions, tokens, roles, and one guard for every client."""
