"""The page of tools: who uses them, and trying one by hand."""
