"""Other numbers without an error."""
