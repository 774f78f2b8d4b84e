"""Commands for the services around runs: inbox, notifications, schedules and triggers."""
