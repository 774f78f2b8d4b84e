"""Tools for podcasts: transcripts, show notes, chapters, clips."""
