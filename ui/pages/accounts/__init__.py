"""Pages about who may do what: one's own account, all accounts, and the audit log."""
