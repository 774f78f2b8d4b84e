"""SQL for both databases: tables, rows, queries, commands and search."""
