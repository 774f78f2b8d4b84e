"""Recorded exchanges with model endpoints: written, matched and replayed."""
