"""Shared by all pages: their paths, access to the conductor, permissions, downloads."""
