"""Unit tests in folders that mirror the code: fast, in-process, without a network."""
