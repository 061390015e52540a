"""Data that was not moved."""
