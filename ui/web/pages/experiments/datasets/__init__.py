"""Datasets: their list, the cases of one, and tables that become cases."""
