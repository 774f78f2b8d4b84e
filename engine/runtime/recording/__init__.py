"""What a run reads and writes besides its journal: recordings, and the source of replayed results."""
