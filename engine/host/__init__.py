"""The machine that the engine runs on: its clock, and the folder for what an installation keeps."""
