"""What runs use, and how they are kept within it."""
