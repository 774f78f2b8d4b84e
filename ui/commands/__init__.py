"""The commands of `hemicycle`, one file each, and what they share."""
