"""The same random numbers in every run of a program, seeded or not."""

from __future__ import annotations

import random
import sys


def seed_everything(seed: int) -> None:
    """Seed random, numpy and torch, and numpy's source of fresh entropy.

    A program that seeds by itself does so later, and wins. Seeds taken from the clock or from the
    operating system by hand stay as they are: two runs of the original show them.
    """
    random.seed(seed)
    _seed_numpy(seed)
    import torch

    torch.manual_seed(seed)


def _seed_numpy(seed: int) -> None:
    try:
        import numpy.random
        from numpy.random import bit_generator
    except ImportError:
        return
    numpy.random.seed(seed)
    entropy = random.Random(seed)
    # what an unseeded default_rng(), SeedSequence() or RandomState() asks for
    if hasattr(bit_generator, "randbits"):
        bit_generator.randbits = entropy.getrandbits
    else:
        print("torchferry: numpy's unseeded generators stay random", file=sys.stderr)
