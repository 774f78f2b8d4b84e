"""The page of the house style."""
