"""What every page needs from the web server: its address, the conductor, downloads."""
