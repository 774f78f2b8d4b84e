"""Bundles: whole runs in one JSON Lines file that another Hemicycle imports without loss."""
