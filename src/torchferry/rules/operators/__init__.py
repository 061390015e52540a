"""Operators that a GPU lacks."""
