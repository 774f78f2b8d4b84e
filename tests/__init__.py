"""Tests, by tier: unit, contract, golden, crash, pages, browser, bench, and the architecture as tests."""
