"""Actions of the time-bounded loop, as functions; those that need parameters get the whole context."""
