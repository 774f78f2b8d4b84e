"""The requests sent to models, in each dialect."""
