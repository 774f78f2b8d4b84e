"""The notifications page: destinations and the delivery log."""
