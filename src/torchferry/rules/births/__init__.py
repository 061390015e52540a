"""Tensors born on the host."""
