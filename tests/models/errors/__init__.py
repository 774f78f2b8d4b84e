"""What is refused, and in which words."""
