"""Triton kernels as kernels of Gluon, where one partition of warps loads and others compute."""
