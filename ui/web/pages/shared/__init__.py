"""Parts shared by several pages: open requests, error pages, pickers and confirmations."""
