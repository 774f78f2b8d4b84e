"""Models: one file, one provider. The scripted one is the default and needs no key."""
