"""Experiments in words, tables and pictures, drawing nothing."""
