"""A fleet: workers that Temporal gives runs to, and web servers that show and steer all of them."""
