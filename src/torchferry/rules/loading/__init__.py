"""Data loading and processes."""
