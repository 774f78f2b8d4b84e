"""What several pages use: links, not-found pages, pickers and confirmations."""
