"""What the scripted model says: scenarios from files, and answers made up where there is none."""
