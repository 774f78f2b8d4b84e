"""Contests of agents over one task: candidates, their tests, how they are ranked, picked and merged."""
