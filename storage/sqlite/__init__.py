"""SQLite: one file, one writer that commits what is queued, a few readers, and locks of the processes."""
