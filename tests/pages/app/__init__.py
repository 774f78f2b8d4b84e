"""Pages over a conductor in memory, in NiceGUI's simulated browser."""
