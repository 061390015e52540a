"""Autograd functions, hooks, tracing, export."""
