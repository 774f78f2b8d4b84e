"""Account pages: the user's own account, all accounts, and the audit log."""
