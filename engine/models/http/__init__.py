"""One thin client for the dialects that model providers speak over HTTP."""
