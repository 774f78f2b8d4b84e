"""Whole runs and whole databases: imported and copied in one transaction each."""
