"""PostgreSQL: a pool of connections, and one statement for each append."""
