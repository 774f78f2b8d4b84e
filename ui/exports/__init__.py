"""Runs as files for others: a page that plays offline, a bundle, a transcript; and bundles taken in."""
