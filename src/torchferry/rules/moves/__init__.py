"""Moves written wrongly."""
