"""Triton kernels as kernels of Gluon for AMD: copies ahead, and two groups of warps in turns."""
