"""The wire: one thin client for the two dialects that model providers speak over HTTP."""
