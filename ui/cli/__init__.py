"""The command line: `hemicycle`, its commands, and the code they share."""
