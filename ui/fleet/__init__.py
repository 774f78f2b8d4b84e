"""A fleet: workers that Temporal assigns runs to, and web servers that show and control all of them."""
