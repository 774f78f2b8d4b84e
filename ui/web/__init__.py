"""What browsers see: pages, their building blocks, recorded steps, runs as files."""
