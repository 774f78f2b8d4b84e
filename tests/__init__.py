"""Tests by tier: unit, contract, models, golden, crash, processes, pages, browser, mutations, bench."""
