"""Which runs are kept, how long, and what a person says of them."""
