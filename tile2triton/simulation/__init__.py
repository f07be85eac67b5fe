"""Kernels of Gluon without a GPU: their barriers one by one, and what they compute."""

from tile2triton.simulation.machine import Machine, ProtocolError
from tile2triton.simulation.run import prepared, simulate

__all__ = ["Machine", "ProtocolError", "prepared", "simulate"]
