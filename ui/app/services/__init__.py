"""Services around the engine, which does not depend on them: inbox, notifications, schedules."""
