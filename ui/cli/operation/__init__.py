"""Commands for the operator of an installation: backups, signing in elsewhere, serving editors."""
