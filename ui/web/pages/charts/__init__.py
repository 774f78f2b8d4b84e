"""Charts as files: their list, the editor, and the difference of two versions."""
