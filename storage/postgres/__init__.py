"""PostgreSQL: a connection pool, and one statement per append."""
