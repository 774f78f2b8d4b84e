"""Unit tests, in folders that mirror the code: fast, in this process, without a network."""
