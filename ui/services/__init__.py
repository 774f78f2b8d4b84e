"""Services around the engine, which knows none of them: the inbox, notifications, schedules."""
