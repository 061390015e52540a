"""Index devices, lengths and generators."""
