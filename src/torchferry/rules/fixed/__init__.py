"""Hard-coded devices, flags and comparisons."""
