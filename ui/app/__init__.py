"""Shared by all doors of a server: settings, callers and guard, services, backend."""
