"""The caller's own account: password, tokens, sessions."""
