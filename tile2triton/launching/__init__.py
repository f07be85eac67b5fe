"""Launches of kernels that were launched before, which ask Triton nothing anew."""

from .launcher import direct_launcher

__all__ = ["direct_launcher"]
