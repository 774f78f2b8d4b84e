"""How commands show runs: progress, reports, tables and JSON."""
