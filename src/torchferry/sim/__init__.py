"""The simulated GPU: ordinary CPU tensors that know which device they would be on."""

from torchferry.sim.session import Session
from torchferry.sim.simulation import simulate

__all__ = ["Session", "simulate"]
