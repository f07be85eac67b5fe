"""Kernels of the acceptance cases."""
