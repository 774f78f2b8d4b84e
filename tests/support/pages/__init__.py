"""Pages in a simulated browser: serving them, starting the runs that they show, and clicking."""
