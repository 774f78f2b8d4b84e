"""SQLite: one file, one writer that commits queued work, a few readers, and process locks."""
