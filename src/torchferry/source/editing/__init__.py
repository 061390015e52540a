"""The edit builders; import them from `source.build`."""
