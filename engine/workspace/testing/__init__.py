"""Tests of projects: how each kind is set up, what runs its tests, and what they report."""
