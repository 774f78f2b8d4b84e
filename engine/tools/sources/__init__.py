"""External sources that tools read and write: pages, feeds, transcripts, Notion."""
