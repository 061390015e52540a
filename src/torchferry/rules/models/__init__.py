"""Models, optimizers and checkpoints."""
