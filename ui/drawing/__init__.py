"""Charts as drawings: layout, what is folded, what is laid over them, and saving them."""
