"""The command line: `hemicycle`, its commands, and what they share."""
