"""Speed and memory that only show on a GPU."""
