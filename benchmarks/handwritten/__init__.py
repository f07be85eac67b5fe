"""The strongest Triton that we could write by hand, for every kernel in `tests/kernels`.

Each module has launchers that take the tensors and one configuration as keywords, and beside each
launcher the configurations that are tried.
"""
