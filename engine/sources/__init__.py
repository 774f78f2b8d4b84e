"""What tools read and write outside: pages, feeds, transcripts, Notion."""
