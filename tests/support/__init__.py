"""Test doubles and helpers shared by several folders."""
