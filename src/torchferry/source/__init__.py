"""Source files: bytes to text to tree, places in them, edits of them, and back to bytes."""
