"""State that the module does not know."""
