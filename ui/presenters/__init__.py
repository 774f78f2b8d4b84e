"""What a run's records say, as people read it: texts, numbers and small records, and no widget."""
