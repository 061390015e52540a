"""Comments to torchferry."""
