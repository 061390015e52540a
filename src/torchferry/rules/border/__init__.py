"""The border to numpy and other host libraries."""
